package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class VisitTest {
    @Test
    public void isTheFirst() {
        assertEquals(0, Settings.VISITS.size());
        Settings.VISITS.add("visit");
    }
}
