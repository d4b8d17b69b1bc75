package unflake.agent.trace;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the code of a traced process says: that it has come to a place.
 *
 * <p>Calls of {@link #hit} are put into classes when they are loaded ({@link Instrumenter}),
 * whoever loads them; so this class is on the path of Java's own. It uses nothing that could have
 * such a call in it, and a place that was passed in this test already costs two reads and a
 * comparison.
 */
public final class Probe {
    /** The number of no test: what is passed between tests is not noted. */
    private static final int CLOSED = 0;

    private static final int N_FIRST = 1 << 14;

    /** For each place, the number of the test in which it was passed last. */
    private static int[] seen = new int[N_FIRST];
    private static int now = CLOSED;
    private static int nTests = CLOSED;
    /** Places passed in the test under way. */
    private static int[] passed = new int[N_FIRST];
    private static int nPassed;

    private static final Map<String, Integer> NUMBERS = new HashMap<>();
    private static final List<Place> PLACES = new ArrayList<>();

    private Probe() {}

    /** The code has come to this place. */
    public static void hit(int place) {
        if (seen[place] != now) {
            note(place);
        }
    }

    private static synchronized void note(int place) {
        if (now == CLOSED || seen[place] == now) {
            return;
        }
        seen[place] = now;
        if (nPassed == passed.length) {
            passed = Arrays.copyOf(passed, 2 * nPassed);
        }
        passed[nPassed++] = place;
    }

    /** A place that code can come to: where a method begins, or is called. */
    public static final class Place {
        public final String owner;
        public final String method;
        public final String signature;
        /** The name of the file that its code is in; null if it is called here, and is elsewhere. */
        public final String file;
        /** The first of its lines; 0 if that is not known. */
        public volatile int line;

        public Place(String owner, String method, String signature, String file) {
            this.owner = owner;
            this.method = method;
            this.signature = signature;
            this.file = file;
        }
    }

    /** The number of a place; the same if it was there before. */
    public static synchronized int number(Place place) {
        String key = place.owner + ' ' + place.method + place.signature + ' ' + place.file;
        Integer known = NUMBERS.get(key);
        if (known != null) {
            return known;
        }
        int number = PLACES.size();
        NUMBERS.put(key, number);
        PLACES.add(place);
        if (number == seen.length) {
            // Who still has the old one has no class with this number in it.
            seen = Arrays.copyOf(seen, 2 * number);
        }
        return number;
    }

    public static synchronized Place place(int number) {
        return PLACES.get(number);
    }

    /** A test begins. */
    public static synchronized void open() {
        nPassed = 0;
        now = ++nTests;
    }

    /** It is over: the places that were passed. */
    public static synchronized int[] close() {
        now = CLOSED;
        return Arrays.copyOf(passed, nPassed);
    }
}
