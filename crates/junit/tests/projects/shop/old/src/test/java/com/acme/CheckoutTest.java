package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class CheckoutTest {
    @Test
    public void paysInDollars() {
        Settings.currency = "USD";
        assertEquals("1 USD", Settings.show(100));
    }

    @Test
    public void paysNothing() {
        assertEquals(0, Settings.show(0).indexOf("0"));
    }
}
