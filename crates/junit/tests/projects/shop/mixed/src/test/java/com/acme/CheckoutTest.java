package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class CheckoutTest {
    @Test
    void paysInDollars() {
        Settings.currency = "USD";
        assertEquals("1 USD", Settings.show(100));
    }

    @Test
    void paysNothing() {
        assertEquals(0, Settings.show(0).indexOf("0"));
    }
}
