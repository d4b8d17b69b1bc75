package com.acme;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class BreaksInCleanUpTest {
    @AfterAll
    static void stop() {
        throw new IllegalStateException("no clean-up");
    }

    @Test
    void it() {}
}
