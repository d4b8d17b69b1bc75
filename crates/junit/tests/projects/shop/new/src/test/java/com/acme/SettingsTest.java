package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SettingsTest {
    @Test
    void areReset() {
        Settings.currency = "EUR";
        assertEquals("1 EUR", Settings.show(100));
    }
}
