package unflake.agent.junit4;

import unflake.agent.backend.Backend;
import unflake.agent.run.Test;

/** An empty test for JUnit 4. */
public final class EmptyJUnit4Test {
    static final Test TEST = named(EmptyJUnit4Test.class.getName());

    private static Test named(String type) {
        return new Test(0, type + "#nothing", type, Backend.JUNIT4);
    }

    @org.junit.Test
    public void nothing() {}
}
