package unflake.agent.backend;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import unflake.agent.jvm.JarsFirst;
import unflake.agent.run.Test;
import unflake.agent.wire.Json;
import unflake.agent.wire.Text;

/** The tests that were found, and what could not be looked into. */
public final class Collected {
    private final Map<String, Test> tests = new LinkedHashMap<>();
    private final List<Object> errors = new ArrayList<>();

    public void add(String id, String top, String engine) {
        if (!tests.containsKey(id)) {
            tests.put(id, new Test(tests.size(), id, top, engine));
        } else if (!tests.get(id).top.equals(top)) {
            fault(top, "`" + id + "` was collected from `" + tests.get(id).top + "` already");
        }
    }

    public void fault(String where, String text) {
        errors.add(Json.object("where", where, "text", Text.bounded(text)));
    }

    /** Writes this as a message. */
    Map<String, Object> write(String rootdir, String runner) {
        List<Object> list = new ArrayList<>();
        for (Test test : tests.values()) {
            list.add(test.write());
        }
        Map<String, Object> body = Json.object(
                "tests", list,
                "errors", errors,
                "fork", "the Java virtual machine cannot be forked",
                "rootdir", rootdir,
                "runner", runner,
                "plugins", new ArrayList<>(),
                "jars_first", JarsFirst.isSame(System.getProperty("java.class.path")));
        return Json.object("collected", body);
    }
}
