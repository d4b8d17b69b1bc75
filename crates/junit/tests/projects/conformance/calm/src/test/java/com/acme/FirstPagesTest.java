package com.acme;

import org.junit.jupiter.api.Test;

class FirstPagesTest {
    @Test
    void one() {
        State.write("1");
    }

    @Test
    void two() {
        State.write("2");
    }
}
