package com.acme;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

public class CatalogTest {
    @Test
    public void findsBook() {
        assertTrue(Settings.BOOKS.containsKey("isbn"));
    }

    @Test
    public void loads() {
        Settings.BOOKS.put("isbn", "title");
    }
}
