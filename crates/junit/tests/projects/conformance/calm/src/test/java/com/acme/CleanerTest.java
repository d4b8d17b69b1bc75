package com.acme;

import org.junit.jupiter.api.Test;

class CleanerTest {
    @Test
    void cleans() {
        State.isPolluted = false;
    }
}
