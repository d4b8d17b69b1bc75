package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class SettingsTest {
    @Test
    public void areReset() {
        Settings.currency = "EUR";
        assertEquals("1 EUR", Settings.show(100));
    }
}
