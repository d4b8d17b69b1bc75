package unflake.agent.backend;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import unflake.agent.run.Reporter;
import unflake.agent.run.Slot;
import unflake.agent.wire.Plan;
import unflake.agent.wire.Text;

/**
 * Which runners does this module use for its tests?
 *
 * <p>JUnit 4 and the JUnit Platform are reached by name: code for one that the project does not
 * have is not even compiled.
 */
public final class Backends {
    private static final String JUNIT4 = "unflake.agent.junit4.JUnit4Backend";
    private static final String PLATFORM = "unflake.agent.platform.PlatformEngines";

    private final Map<String, Backend> byName;

    private Backends(Map<String, Backend> byName) {
        this.byName = byName;
    }

    /** Provides backends, in the order in which Surefire runs them. */
    public interface Source {
        Map<String, Backend> backends(Plan plan);
    }

    public static Backends of(Plan plan) {
        Map<String, Backend> backends = new LinkedHashMap<>();
        if (plan.isPlatform) {
            backends.putAll(((Source) make(PLATFORM)).backends(plan));
        } else {
            backends.put(Backend.JUNIT4, junit4());
        }
        return new Backends(backends);
    }

    /** JUnit 4, which also runs JUnit 3. */
    public static Backend junit4() {
        return (Backend) make(JUNIT4);
    }

    private static Object make(String name) {
        try {
            return Class.forName(name).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException absent) {
            throw new IllegalStateException(absent);
        }
    }

    public Map<String, Object> collect(Plan plan) {
        Collected found = new Collected();
        List<Class<?>> classes = new ArrayList<>();
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        for (String name : plan.classes) {
            try {
                classes.add(Class.forName(name, false, loader));
            } catch (Throwable fault) {
                found.fault(name, Text.trace(fault));
            }
        }
        for (Backend backend : byName.values()) {
            backend.collect(classes, found);
        }
        return found.write(plan.rootdir, "junit (" + String.join(", ", byName.keySet()) + ")");
    }

    public void warmUp() {
        for (Backend backend : byName.values()) {
            backend.warmUp();
        }
    }

    /** Runs attempts in their order; consecutive attempts of one backend run together. */
    public void run(List<Slot> slots, Reporter reporter) {
        int from = 0;
        boolean goesOn = true;
        while (goesOn && from < slots.size()) {
            int to = from;
            String engine = slots.get(from).test.engine;
            while (to < slots.size() && slots.get(to).test.engine.equals(engine)) {
                to++;
            }
            goesOn = byName.get(engine).run(slots.subList(from, to), reporter);
            from = to;
        }
    }
}
