package com.acme;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class BrokenTeardownTest {
    @AfterAll
    static void stop() {
        throw new IllegalStateException("no teardown");
    }

    @Test
    void one() {}

    @Test
    void two() {}
}
