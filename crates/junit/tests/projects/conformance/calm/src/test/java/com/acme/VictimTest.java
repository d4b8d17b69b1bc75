package com.acme;

import static org.junit.jupiter.api.Assertions.assertFalse;

import org.junit.jupiter.api.Test;

class VictimTest {
    @Test
    void isClean() {
        assertFalse(State.isPolluted);
    }
}
