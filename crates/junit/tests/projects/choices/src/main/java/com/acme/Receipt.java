package com.acme;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Lists what Java lists in no certain order. */
public class Receipt {
    int apples;
    int bread;
    int cheese;
    int dates;

    private final Map<String, Integer> items = new HashMap<>();

    public Receipt() {
        for (String name : Arrays.asList("apples", "bread", "cheese", "dates", "eggs")) {
            items.put(name, name.length());
        }
    }

    public String text() {
        StringBuilder text = new StringBuilder();
        for (String name : items.keySet()) {
            text.append(name).append(' ');
        }
        return text.toString().trim();
    }

    public String sorted() {
        return new TreeMap<>(items).keySet().toString();
    }

    public static List<String> columns() {
        List<String> names = new ArrayList<>();
        for (Field field : Receipt.class.getDeclaredFields()) {
            if (field.getType() == int.class) {
                names.add(field.getName());
            }
        }
        return names;
    }
}
