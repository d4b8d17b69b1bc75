package unflake.agent;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What was found, and what could not be looked into. */
final class Collection {
    private final Map<String, Test> tests = new LinkedHashMap<>();
    private final List<Object> errors = new ArrayList<>();

    void add(String id, String top, String engine) {
        if (!tests.containsKey(id)) {
            tests.put(id, new Test(tests.size(), id, top, engine));
        } else if (!tests.get(id).top.equals(top)) {
            fault(top, "`" + id + "` was collected from `" + tests.get(id).top + "` already");
        }
    }

    void fault(String where, String text) {
        errors.add(Json.object("where", where, "text", Text.bounded(text)));
    }

    /** As a message. */
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
                "apart", Apart.isSo(System.getProperty("java.class.path")));
        return Json.object("collected", body);
    }
}
