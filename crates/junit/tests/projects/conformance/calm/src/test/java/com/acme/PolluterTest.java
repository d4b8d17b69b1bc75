package com.acme;

import org.junit.jupiter.api.Test;

class PolluterTest {
    @Test
    void pollutes() {
        State.isPolluted = true;
    }
}
