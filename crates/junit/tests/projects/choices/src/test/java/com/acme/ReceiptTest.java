package com.acme;

import static org.junit.Assert.assertEquals;

import java.util.Arrays;
import org.junit.Test;

public class ReceiptTest {
    /** As it is with Java's own hash map, today. */
    @Test
    public void listsItemsInTheOrderOfTheMap() {
        assertEquals("eggs bread dates apples cheese", new Receipt().text());
    }

    @Test
    public void listsFieldsAsDeclared() {
        assertEquals(Arrays.asList("apples", "bread", "cheese", "dates"), Receipt.columns());
    }

    @Test
    public void listsItemsByTheAlphabet() {
        assertEquals("[apples, bread, cheese, dates, eggs]", new Receipt().sorted());
    }
}
