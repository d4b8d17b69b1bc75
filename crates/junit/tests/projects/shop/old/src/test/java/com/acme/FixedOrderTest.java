package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.fail;

import org.junit.AfterClass;
import org.junit.Assume;
import org.junit.BeforeClass;
import org.junit.FixMethodOrder;
import org.junit.Ignore;
import org.junit.Test;
import org.junit.runners.MethodSorters;

@FixMethodOrder(MethodSorters.NAME_ASCENDING)
public class FixedOrderTest {
    private static int starts;
    private static boolean isSet;

    @BeforeClass
    public static void start() {
        starts++;
    }

    @AfterClass
    public static void stop() {
        isSet = false;
    }

    @Test
    public void a() {
        isSet = true;
    }

    @Test
    public void b() {
        if (!isSet) {
            fail("b before a\nmore");
        }
    }

    @Test
    public void c() {
        Assume.assumeTrue("not today", isSet && false);
    }

    @Ignore("never")
    @Test
    public void d() {
        fail();
    }

    @Test
    public void e() {
        assertEquals("times the class was set up", 1, starts);
    }
}
