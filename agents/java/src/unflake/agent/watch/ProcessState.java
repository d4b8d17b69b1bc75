package unflake.agent.watch;

import java.io.InputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TimeZone;
import unflake.agent.jvm.JavaInternals;

/** The state of the process apart from the program's objects, by Java's names for it. */
final class ProcessState {
    /** More threads than a process can have. */
    private static final int THREADS_MAX = 100_000;

    private final JavaInternals internals;

    /** One place that is watched. */
    private static final class Item {
        final String kind;
        /** Equal stamps mean equal values. */
        final String stamp;
        final String text;
        /** Restores the value that was read; null if that cannot be done. */
        final Change.Undo putBack;
        /** Removes the place; null if that cannot be done. */
        final Change.Undo remove;

        Item(String kind, String stamp, String text, Change.Undo putBack, Change.Undo remove) {
            this.kind = kind;
            this.stamp = stamp;
            this.text = text;
            this.putBack = putBack;
            this.remove = remove;
        }
    }

    /** The state of all places. */
    static final class Reading {
        private final Map<String, Item> items = new LinkedHashMap<>();
    }

    ProcessState(JavaInternals internals) {
        this.internals = internals;
        // Java determines it on first use, and stores it; this is not a change by a test.
        TimeZone.getDefault();
    }

    Reading read() {
        Reading reading = new Reading();
        readProperties(reading.items);
        readLocales(reading.items);
        readTimeZone(reading.items);
        readStreams(reading.items);
        readThread(reading.items);
        readThreads(reading.items);
        return reading;
    }

    List<Change> changes(Reading before, Reading after) {
        List<Change> changes = new ArrayList<>();
        before.items.forEach((where, was) -> {
            Item is = after.items.get(where);
            // A thread that has ended is not left behind.
            boolean isGone = is == null && !was.kind.equals("thread");
            if (isGone || is != null && !is.stamp.equals(was.stamp)) {
                add(changes, where, was, is);
            }
        });
        after.items.forEach((where, is) -> {
            if (!before.items.containsKey(where)) {
                add(changes, where, null, is);
            }
        });
        return changes;
    }

    private static void add(List<Change> changes, String where, Item was, Item is) {
        Change.Undo undo = was == null ? is.remove : was.putBack;
        changes.add(new Change(Change.clip(where), (was == null ? is : was).kind,
                was == null ? null : Change.clip(was.text),
                is == null ? null : Change.clip(is.text),
                undo == null ? Change.refuse("it cannot be put back") : undo));
    }

    private static void readProperties(Map<String, Item> items) {
        Properties properties = System.getProperties();
        String whole = identity(properties);
        items.put("System.getProperties()", new Item("property", whole, whole,
                () -> System.setProperties(properties), null));
        if (properties.getClass() != Properties.class) {
            return;
        }
        for (String name : properties.stringPropertyNames()) {
            String value = properties.getProperty(name);
            items.put("System.getProperty(\"" + name + "\")", new Item("property", value,
                    '"' + value + '"',
                    () -> System.setProperty(name, value), () -> System.clearProperty(name)));
        }
    }

    private static void readLocales(Map<String, Item> items) {
        Locale locale = Locale.getDefault();
        Locale display = Locale.getDefault(Locale.Category.DISPLAY);
        Locale format = Locale.getDefault(Locale.Category.FORMAT);
        boolean isSplit = !display.equals(locale) || !format.equals(locale);
        String text = isSplit
                ? locale + " (display " + display + ", format " + format + ")"
                : locale.toString();
        items.put("Locale.getDefault()", new Item("locale", text, text, () -> {
            Locale.setDefault(locale);
            Locale.setDefault(Locale.Category.DISPLAY, display);
            Locale.setDefault(Locale.Category.FORMAT, format);
        }, null));
    }

    private void readTimeZone(Map<String, Item> items) {
        TimeZone zone = (TimeZone) internals.field(TimeZone.class, "defaultTimeZone", null);
        // A time zone class of the program is not called.
        boolean isJavas = zone != null && zone.getClass().getClassLoader() == null;
        String text = isJavas ? zone.getID() + " " + zone.getRawOffset() : identity(zone);
        String shown = isJavas ? zone.getID() : text;
        items.put("TimeZone.getDefault()",
                new Item("timezone", text, shown, () -> TimeZone.setDefault(zone), null));
    }

    private static void readStreams(Map<String, Item> items) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        InputStream in = System.in;
        put(items, "System.out", out, () -> System.setOut(out));
        put(items, "System.err", err, () -> System.setErr(err));
        put(items, "System.in", in, () -> System.setIn(in));
    }

    @SuppressWarnings({"deprecation", "removal"})
    private static void readThread(Map<String, Item> items) {
        Thread thread = Thread.currentThread();
        ClassLoader loader = thread.getContextClassLoader();
        Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
        SecurityManager manager = System.getSecurityManager();
        put(items, "Thread.currentThread().getContextClassLoader()", loader,
                () -> thread.setContextClassLoader(loader));
        put(items, "Thread.getDefaultUncaughtExceptionHandler()", handler,
                () -> Thread.setDefaultUncaughtExceptionHandler(handler));
        put(items, "System.getSecurityManager()", manager,
                () -> System.setSecurityManager(manager));
        String isInterrupted = String.valueOf(thread.isInterrupted());
        items.put("Thread.currentThread().isInterrupted()", new Item("interpreter", isInterrupted,
                isInterrupted, Thread::interrupted, null));
    }

    private static void put(
            Map<String, Item> items, String where, Object value, Change.Undo putBack) {
        String stamp = identity(value);
        String text = value == null ? "null" : "<" + value.getClass().getName() + ">";
        items.put(where, new Item("interpreter", stamp, text, putBack, null));
    }

    /** Threads of the program; Java's own are in groups of their own. */
    private static void readThreads(Map<String, Item> items) {
        ThreadGroup top = Thread.currentThread().getThreadGroup();
        while (top.getParent() != null) {
            top = top.getParent();
        }
        Thread[] threads = new Thread[16];
        int n = top.enumerate(threads, true);
        while (n == threads.length && n < THREADS_MAX) {
            threads = new Thread[2 * n];
            n = top.enumerate(threads, true);
        }
        for (int i = 0; i < n; i++) {
            ThreadGroup group = threads[i].getThreadGroup();
            String name = threads[i].getName();
            boolean isJavas = group == null || group == top
                    || group.getName().equals("InnocuousThreadGroup")
                    || name.startsWith("unflake-")
                    || name.startsWith("ForkJoinPool.commonPool-worker-");
            if (!isJavas) {
                String text = threads[i].isDaemon() ? "alive, a daemon" : "alive";
                items.put("Thread \"" + name + "\"", new Item("thread", text, text, null, null));
            }
        }
    }

    private static String identity(Object value) {
        return value == null
                ? "null"
                : value.getClass().getName() + "@"
                        + Integer.toHexString(System.identityHashCode(value));
    }
}
