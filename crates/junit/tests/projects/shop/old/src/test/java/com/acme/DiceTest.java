package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class DiceTest {
    @Test
    public void fallsWell() {
        assertTrue(new java.util.Random().nextBoolean());
    }
}
