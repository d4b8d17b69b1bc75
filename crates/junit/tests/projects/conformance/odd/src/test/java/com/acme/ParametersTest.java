package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import java.util.Collection;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

@RunWith(Parameterized.class)
public class ParametersTest {
    private final String text;

    public ParametersTest(String text) {
        this.text = text;
    }

    @Parameters(name = "{0}")
    public static Collection<Object[]> texts() {
        return Arrays.asList(new Object[] {"a b"}, new Object[] {"it's [1]"}, new Object[] {"a#b"});
    }

    @Test
    public void isShort() {
        assertEquals(3, text.length());
    }
}
