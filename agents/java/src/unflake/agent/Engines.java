package unflake.agent;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.platform.engine.TestEngine;

/** The engines of the JUnit Platform that are on the class path, as the platform finds them. */
final class Engines implements Backends.Source {
    private static final String VINTAGE = "junit-vintage";

    @Override
    public Map<String, Backend> backends(Plan plan) {
        Map<String, Backend> backends = new LinkedHashMap<>();
        for (TestEngine engine : ServiceLoader.load(TestEngine.class)) {
            String id = engine.getId();
            boolean isIncluded =
                    plan.includedEngines.isEmpty() || plan.includedEngines.contains(id);
            if (!isIncluded || plan.excludedEngines.contains(id)) {
                continue;
            }
            if (id.equals(VINTAGE)) {
                // Vintage asks JUnit 4 for its runners, and so do we.
                backends.put(Backend.OLD, Backends.old());
            } else {
                backends.put(id, new Platform(engine, plan));
            }
        }
        return backends;
    }
}
