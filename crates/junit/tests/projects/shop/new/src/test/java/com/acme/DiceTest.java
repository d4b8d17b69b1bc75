package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DiceTest {
    @Test
    void fallsWell() {
        assertTrue(new java.util.Random().nextBoolean());
    }
}
