package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class VisitTest {
    @Test
    void isTheFirst() {
        assertEquals(1, ++State.visits);
    }
}
