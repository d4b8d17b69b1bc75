package com.acme;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class BreaksInSetUpTest {
    @BeforeAll
    static void start() {
        throw new IllegalStateException("no set-up");
    }

    @Test
    void it() {}
}
