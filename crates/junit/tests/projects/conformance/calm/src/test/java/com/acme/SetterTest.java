package com.acme;

import org.junit.jupiter.api.Test;

class SetterTest {
    @Test
    void loads() {
        State.isLoaded = true;
    }
}
