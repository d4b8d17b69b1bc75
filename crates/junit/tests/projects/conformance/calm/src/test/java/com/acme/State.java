package com.acme;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.ArrayList;
import java.util.List;

/** What tests leave to each other. */
class State {
    static final List<String> DIARY = new ArrayList<>();
    static boolean isPolluted;
    static boolean isLoaded;
    static int visits;

    static void write(String number) {
        DIARY.add(number);
        fail("diary [" + String.join(" ", DIARY) + "]");
    }
}
