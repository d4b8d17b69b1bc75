package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class AmountTest {
    @Test
    public void isShownInEuro() {
        assertEquals("12 EUR", Settings.show(1200));
    }
}
