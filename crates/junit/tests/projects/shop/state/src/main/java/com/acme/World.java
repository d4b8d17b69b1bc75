package com.acme;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** State of many shapes. Its own objects must not be asked anything. */
public final class World {
    public static int number = 1;
    public static List<String> names = new ArrayList<>(Arrays.asList("a", "b"));
    public static final Map<Object, Object> ENTRIES = new HashMap<>();
    public static final List<String> GUARDED = Collections.synchronizedList(new ArrayList<>());
    public static final Set<String> TAGS = new HashSet<>(Arrays.asList("x", "y"));
    public static final int[] NUMBERS = {1, 2, 3};
    public static final String[] WORDS = {"one", "two"};
    public static final AtomicInteger COUNT = new AtomicInteger();
    public static final ThreadLocal<String> LOCAL = ThreadLocal.withInitial(World::refuse);
    public static final StringBuilder LOG = new StringBuilder("begun");
    public static final Touchy TOUCHY = new Touchy();
    public static final Supplier<String> LAMBDA = () -> "never called";

    static {
        TOUCHY.self = TOUCHY;
        ENTRIES.put("kept", "old");
        ENTRIES.put(Color.RED, 1);
        ENTRIES.put("touchy", TOUCHY);
    }

    /** An enumeration with a memory. */
    public enum Color {
        RED,
        GREEN;

        public int uses;
    }

    /** Whoever asks it anything is noticed. */
    public static final class Touchy implements Iterable<String> {
        public static int asked;
        public Touchy self;
        public String mood = "calm";

        @Override
        public boolean equals(Object other) {
            asked++;
            return this == other;
        }

        @Override
        public int hashCode() {
            asked++;
            return 1;
        }

        @Override
        public String toString() {
            asked++;
            return "touchy";
        }

        @Override
        public Iterator<String> iterator() {
            asked++;
            return Collections.emptyIterator();
        }
    }

    private World() {}

    private static String refuse() {
        throw new IllegalStateException("nobody has set it");
    }
}
