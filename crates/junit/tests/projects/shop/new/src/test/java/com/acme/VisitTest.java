package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class VisitTest {
    @Test
    void isTheFirst() {
        assertEquals(0, Settings.VISITS.size());
        Settings.VISITS.add("visit");
    }
}
