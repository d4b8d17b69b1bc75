package unflake.agent.run;

import java.util.Map;
import unflake.agent.wire.Json;

/** One test: its name as Maven spells it, its class, and what runs it. */
public final class Test {
    /** Its position among the collected tests. */
    final int index;
    /** {@code com.acme.FooTest#bar}. */
    public final String id;
    /** The class to run; it includes tests of nested classes and of suites. */
    public final String top;
    /** {@code junit4}, or the id of an engine of the JUnit Platform. */
    public final String engine;

    public Test(int index, String id, String top, String engine) {
        this.index = index;
        this.id = id;
        this.top = top;
        this.engine = engine;
    }

    public static Test read(int index, Map<?, ?> body) {
        String engine = (String) body.get("engine");
        return new Test(index, (String) body.get("id"), (String) body.get("class"), engine);
    }

    public Map<String, Object> write() {
        return Json.object("id", id, "class", top, "file", top, "engine", engine);
    }
}
