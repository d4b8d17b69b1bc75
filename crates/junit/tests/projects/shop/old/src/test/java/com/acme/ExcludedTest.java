package com.acme;

import org.junit.Assert;
import org.junit.Test;

public class ExcludedTest {
    @Test
    public void isNotForSurefire() {
        Assert.fail();
    }
}
