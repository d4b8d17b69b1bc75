package unflake.agent.trace;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Records which places the code of a traced process reaches.
 *
 * <p>Calls of {@link #hit} are inserted into classes when they are loaded ({@link Instrumenter}),
 * whatever loads them; so this class is on the path of Java's own. It uses nothing that could
 * contain such a call, and a place that was already reached in this test costs two reads and a
 * comparison.
 */
public final class Probe {
    /** Stands for no test: places reached between tests are not recorded. */
    private static final int CLOSED = 0;

    private static final int N_FIRST = 1 << 14;

    /** For each place, the number of the test in which it was last reached. */
    private static int[] seen = new int[N_FIRST];
    private static int now = CLOSED;
    private static int nTests = CLOSED;
    /** The places reached in the current test. */
    private static int[] passed = new int[N_FIRST];
    private static int nPassed;

    private static final Map<String, Integer> NUMBERS = new HashMap<>();
    private static final List<Place> PLACES = new ArrayList<>();

    private Probe() {}

    /** Records that the code has reached this place. */
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

    /** A place in the code: the beginning of a method, or a call of one. */
    public static final class Place {
        public final String owner;
        public final String method;
        public final String signature;
        /** The name of the file that defines it; null for a call, whose code is elsewhere. */
        public final String file;
        /** Its first line; 0 if that is unknown. */
        public volatile int line;

        public Place(String owner, String method, String signature, String file) {
            this.owner = owner;
            this.method = method;
            this.signature = signature;
            this.file = file;
        }
    }

    /** The number of a place, always the same for equal places. */
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
            // Threads that still use the old array have no class with this number.
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

    /** The test is over; returns the places it reached. */
    public static synchronized int[] close() {
        now = CLOSED;
        return Arrays.copyOf(passed, nPassed);
    }
}
