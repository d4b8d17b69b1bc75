package com.acme;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class BrittleTest {
    @Test
    void isLoaded() {
        assertTrue(State.isLoaded);
    }
}
