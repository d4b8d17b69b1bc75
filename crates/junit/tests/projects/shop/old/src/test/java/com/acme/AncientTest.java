package com.acme;

import junit.framework.TestCase;

public class AncientTest extends TestCase {
    private static int n;

    public void testCounts() {
        n++;
    }

    public void testFew() {
        assertTrue(n < 2);
    }
}
