package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class AmountTest {
    @Test
    void isShownInEuro() {
        assertEquals("12 EUR", Settings.show(1200));
    }
}
