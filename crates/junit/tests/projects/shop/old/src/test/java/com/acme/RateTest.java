package com.acme;

import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collection;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

@RunWith(Parameterized.class)
public class RateTest {
    private final int rate;

    public RateTest(int rate) {
        this.rate = rate;
    }

    @Parameters
    public static Collection<Object[]> rates() {
        return Arrays.asList(new Object[] {7}, new Object[] {19});
    }

    @Test
    public void isLow() {
        assertTrue(rate < 10);
    }

    @Test
    public void isPositive() {
        assertTrue(0 < rate);
    }
}
