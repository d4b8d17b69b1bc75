package unflake.agent.wire;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the adapter knows about a module: written once, read at each start. */
public final class Plan {
    /** The file with the collected tests, next to the plan. */
    private static final String COLLECTED = "collected.json";

    /** The folder of the module. */
    public final String rootdir;
    /** Test classes in the order in which Surefire found them. */
    public final List<String> classes;
    /** Whether the JUnit Platform runs them; else JUnit 4 does. */
    public final boolean isPlatform;
    /** Properties that Surefire sets in the process it starts. */
    public final Map<String, String> properties;
    /** Configuration of the JUnit Platform. */
    public final Map<String, String> configuration;
    public final List<String> groups;
    public final List<String> excludedGroups;
    public final List<String> includedEngines;
    public final List<String> excludedEngines;
    /** The folders with the classes of the project. */
    public final List<String> folders;

    /** The class path of the build tool, if this process has a different one; else null. */
    public final String classPath;

    private final File file;

    private Plan(File file, Map<?, ?> body) {
        this.file = file;
        rootdir = (String) body.get("rootdir");
        classes = texts(body.get("classes"));
        isPlatform = (Boolean) body.get("platform");
        properties = pairs(body.get("properties"));
        configuration = pairs(body.get("configuration"));
        groups = texts(body.get("groups"));
        excludedGroups = texts(body.get("excluded_groups"));
        includedEngines = texts(body.get("included_engines"));
        excludedEngines = texts(body.get("excluded_engines"));
        folders = texts(body.get("folders"));
        classPath = (String) body.get("class_path");
    }

    public static Plan read(String path) throws IOException {
        File file = new File(path);
        return new Plan(file, (Map<?, ?>) Json.parse(text(file)));
    }

    /** The message with the collected tests, as it was written then. */
    public String collected() throws IOException {
        return text(new File(file.getParentFile(), COLLECTED));
    }

    private static String text(File file) throws IOException {
        return new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
    }

    private static List<String> texts(Object value) {
        List<String> texts = new ArrayList<>();
        for (Object text : (List<?>) value) {
            texts.add((String) text);
        }
        return texts;
    }

    private static Map<String, String> pairs(Object value) {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
            pairs.put((String) entry.getKey(), (String) entry.getValue());
        }
        return pairs;
    }
}
