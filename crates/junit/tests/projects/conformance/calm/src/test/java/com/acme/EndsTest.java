package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

class EndsTest {
    @Test
    void passes() {}

    @Test
    void fails() {
        assertEquals(1, 2);
    }

    @Disabled("said aloud")
    @Test
    void skipped() {}

    @Test
    void prints() {
        System.out.println("written to standard output");
        System.err.println("written to standard error");
        fail("said aloud");
    }
}
