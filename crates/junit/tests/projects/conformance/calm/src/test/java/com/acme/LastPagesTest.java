package com.acme;

import org.junit.jupiter.api.Test;

class LastPagesTest {
    @Test
    void three() {
        State.write("3");
    }

    @Test
    void four() {
        State.write("4");
    }
}
