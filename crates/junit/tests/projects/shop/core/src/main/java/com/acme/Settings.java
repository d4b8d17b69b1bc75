package com.acme;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** State that everybody shares. */
public final class Settings {
    public static String currency = "EUR";
    public static final Map<String, String> BOOKS = new HashMap<>();
    public static final List<String> VISITS = new ArrayList<>();

    private Settings() {}

    public static String show(int cents) {
        return cents / 100 + " " + currency;
    }
}
