package unflake.agent.platform;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.platform.engine.TestEngine;
import unflake.agent.backend.Backend;
import unflake.agent.backend.Backends;
import unflake.agent.wire.Plan;

/** The engines of the JUnit Platform that are on the class path, as the platform finds them. */
public final class PlatformEngines implements Backends.Source {
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
                backends.put(Backend.JUNIT4, Backends.junit4());
            } else {
                backends.put(id, new PlatformBackend(engine, plan));
            }
        }
        return backends;
    }
}
