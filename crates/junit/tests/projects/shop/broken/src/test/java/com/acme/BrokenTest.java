package com.acme;

import org.junit.Test;

public class BrokenTest {
    @Test
    public void isNeverCompiled() {}
}
