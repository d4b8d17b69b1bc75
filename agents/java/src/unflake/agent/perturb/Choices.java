package unflake.agent.perturb;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import unflake.agent.wire.Json;

/**
 * Perturbs choices that Java leaves open.
 *
 * <p>NonDex does this: in a process that will perturb any, its classes replace some of Java's own.
 * At the start it is told to do nothing. Once it is known which choices are wanted, it is set up
 * again, with their seed and their numbers; so what happened before, above all the start of JUnit,
 * is neither changed nor counted. If a single choice is perturbed, we ask where it comes from.
 */
public final class Choices {
    private static final String PACKAGE = "edu.illinois.nondex.";
    /** The name of a folder of NonDex, and of the file in it. */
    private static final String FOLDER = "choices";
    private static final String STACK = "debug";

    private final Object nondex;
    private final Field place;
    private final Method count;
    private final File stack;

    private Choices(Object configuration, File folder) throws ReflectiveOperationException {
        Class<?> type = Class.forName(PACKAGE + "common.NonDex");
        Constructor<?> make = type.getConstructor(configuration.getClass());
        nondex = make.newInstance(configuration);
        count = type.getMethod("getPossibleExplorations");
        place = Class.forName(PACKAGE + "shuffling.ControlNondeterminism")
                .getDeclaredField("nondex");
        place.setAccessible(true);
        stack = new File(new File(folder, FOLDER), STACK);
    }

    /** The choices that a run perturbs; null if it perturbs none. */
    public static Choices of(Map<?, ?> run) {
        Map<?, ?> wish = (Map<?, ?>) run.get("choices");
        if (wish == null) {
            return null;
        }
        long first = ((Double) wish.get("first")).longValue();
        Double last = (Double) wish.get("last");
        File folder = new File((String) run.get("scratch"));
        try {
            return new Choices(configuration(
                    ((Double) wish.get("seed")).intValue(),
                    first,
                    last == null ? Long.MAX_VALUE : last.longValue(),
                    folder.getPath()), folder);
        } catch (ReflectiveOperationException absent) {
            throw new IllegalStateException("this NonDex is of another version", absent);
        }
    }

    private static Object configuration(int seed, long first, long last, String folder)
            throws ReflectiveOperationException {
        Class<?> mode = Class.forName(PACKAGE + "common.Mode");
        Class<?> level = Class.forName(PACKAGE + "common.Level");
        return Class.forName(PACKAGE + "common.Configuration")
                .getConstructor(mode, int.class, Pattern.class, long.class, long.class,
                        String.class, String.class, String.class, String.class, level,
                        boolean.class)
                .newInstance(constant(mode, "ONE"), seed, Pattern.compile(".*"), first, last,
                        folder, folder, null, FOLDER, constant(level, "OFF"), first == last);
    }

    private static Object constant(Class<?> type, String name)
            throws ReflectiveOperationException {
        return type.getField(name).get(null);
    }

    /** From here on, choices are perturbed and counted. */
    public void begin() {
        try {
            place.set(null, nondex);
        } catch (ReflectiveOperationException fault) {
            throw new IllegalStateException(fault);
        }
    }

    /** The choices that came up. */
    public Map<String, Object> lastWords() throws IOException {
        Object n;
        try {
            n = count.invoke(nondex);
        } catch (ReflectiveOperationException fault) {
            throw new IllegalStateException(fault);
        }
        List<Object> frames = new ArrayList<>();
        if (stack.exists()) {
            frames.addAll(Files.readAllLines(stack.toPath(), StandardCharsets.UTF_8));
            // The name of the test, which NonDex was not told.
            frames.remove(0);
        }
        return Json.object("n", n, "stack", frames);
    }
}
