package com.acme;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What a test sees of the class path. */
class ClassPathTest {
    @Test
    void foldersStandFirst() {
        String path = System.getProperty("java.class.path");
        assertTrue(path.indexOf("test-classes") < path.indexOf(".jar"), path);
        String first = ClassPathTest.class.getResource("/").getPath();
        assertTrue(first.endsWith("/test-classes/"), first);
    }
}
