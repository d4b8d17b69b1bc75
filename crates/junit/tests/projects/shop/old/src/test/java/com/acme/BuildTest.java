package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import java.io.File;
import org.junit.Test;

public class BuildTest {
    @Test
    public void givesWhatItSays() {
        assertEquals("yes", System.getProperty("from.arg.line"));
        assertEquals("two words", System.getProperty("from.variables"));
        assertEquals("yes", System.getenv("FROM_ENVIRONMENT"));
    }

    @Test
    public void runsInTheFolderOfTheModule() {
        assertEquals("old", new File("").getAbsoluteFile().getName());
        assertEquals(new File("").getAbsolutePath(), System.getProperty("basedir"));
    }

    @Test
    public void looksLikeItself() {
        assertFalse(System.getenv().toString().contains("unflake-"));
        boolean asserts = false;
        assert asserts = true;
        assertEquals(true, asserts);
    }
}
