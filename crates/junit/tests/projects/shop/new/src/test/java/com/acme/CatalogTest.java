package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class CatalogTest {
    @Test
    void findsBook() {
        assertTrue(Settings.BOOKS.containsKey("isbn"));
    }

    @Test
    void loads() {
        Settings.BOOKS.put("isbn", "title");
    }
}
