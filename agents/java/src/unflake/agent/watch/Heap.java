package unflake.agent.watch;

import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import unflake.agent.jvm.JavaInternals;

/**
 * Which objects of this process belong to the program?
 *
 * <p>Those in static fields of classes whose file is in an output folder of the project, and which
 * are loaded and initialised. No class is loaded or initialised for this.
 */
public final class Heap {
    static final String KIND = "static-field";
    /** Deeper than any package. */
    private static final int FOLDERS_MAX = 100;

    private final JavaInternals internals;
    private final Set<String> names = new TreeSet<>();
    private final Map<String, List<Field>> fields = new TreeMap<>();
    private boolean isInPart;

    public Heap(List<String> folders) {
        internals = new JavaInternals();
        for (String folder : folders) {
            addClasses(new File(folder), "", FOLDERS_MAX);
        }
    }

    private void addClasses(File folder, String prefix, int depth) {
        File[] files = folder.listFiles();
        for (File file : files == null || depth == 0 ? new File[0] : files) {
            String name = file.getName();
            if (name.endsWith(".class")) {
                names.add(prefix + name.substring(0, name.length() - ".class".length()));
            } else if (file.isDirectory()) {
                addClasses(file, prefix + name + ".", depth - 1);
            }
        }
    }

    boolean isInPart() {
        return isInPart;
    }

    JavaInternals internals() {
        return internals;
    }

    /** The classes that were initialised since the last call. */
    List<String> awoken() {
        List<String> awoken = new ArrayList<>();
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        for (String name : names) {
            Class<?> type = fields.containsKey(name) ? null : internals.awake(loader, name);
            if (type != null) {
                fields.put(name, statics(type));
                awoken.add(name);
            }
        }
        return awoken;
    }

    private static List<Field> statics(Class<?> type) {
        List<Field> statics = new ArrayList<>();
        try {
            for (Field field : type.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) && !field.isSynthetic()
                        && !isConstant(field)) {
                    statics.add(field);
                }
            }
        } catch (LinkageError broken) {
            // A field of this class has a type that is missing: then nobody can tell.
            return new ArrayList<>();
        }
        return statics;
    }

    private static boolean isConstant(Field field) {
        Class<?> type = field.getType();
        return Modifier.isFinal(field.getModifiers())
                && (type.isPrimitive() || type == String.class || type == Class.class);
    }

    /** The current values, by class and field. */
    Map<Field, Node> read(boolean isKept) {
        awoken();
        Reader reader = new Reader(internals, names, isKept);
        Map<Field, Node> nodes = new LinkedHashMap<>();
        for (List<Field> statics : fields.values()) {
            for (Field field : statics) {
                try {
                    nodes.put(field, reader.read(Reader.get(field, null)));
                } catch (RuntimeException | LinkageError unread) {
                    // Another thread was changing it, or a class that it refers to is missing.
                    isInPart = true;
                }
            }
        }
        isInPart |= reader.isInPart();
        return nodes;
    }

    /** The differences; a field that one reading does not have is left out. */
    List<Change> changes(Map<Field, Node> before, Map<Field, Node> after) {
        Difference difference = new Difference(KIND, internals);
        for (Map.Entry<Field, Node> entry : after.entrySet()) {
            Field field = entry.getKey();
            Node was = before.get(field);
            if (was != null) {
                difference.compare(name(field), was, entry.getValue(),
                        value -> field.set(null, value), Change.refuse("it is a field"));
            }
        }
        return difference.changes();
    }

    private static String name(Field field) {
        return field.getDeclaringClass().getName().replace('$', '.') + "." + field.getName();
    }
}
