package unflake.agent.watch;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Date;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import unflake.agent.jvm.JavaInternals;

/**
 * What does a value hold, read without its noticing?
 *
 * <p>No code of the tested program is called: no {@code equals}, {@code hashCode}, {@code toString}
 * or iterator of its classes. Its objects are read field by field. Java's own (numbers, text,
 * collections) are called, if their class is exactly Java's; wrappers around others are removed
 * first. Everything else, including objects of libraries, is watched by its identity.
 */
final class Reader {
    /** The most objects read below one static field. What is beyond is not watched. */
    private static final int OBJECTS_MAX = 20_000;
    /** Of a larger container, only the size is watched. */
    private static final int ITEMS_MAX = 5_000;
    /** Longer chains of objects would exhaust the stack. */
    private static final int DEPTH_MAX = 100;
    /** Longer texts are compared by length and hash. */
    private static final int STAMP_MAX = 1_000;
    private static final int KEY_TEXT_MAX = 60;

    private final JavaInternals internals;
    private final Set<String> project;
    private final boolean isKept;
    private final Shapes shapes;
    private Map<Object, String> seen;
    private boolean isInPart;

    /** Keeps the values if they may have to be put back. */
    Reader(JavaInternals internals, Set<String> project, boolean isKept) {
        this.internals = internals;
        this.project = project;
        this.isKept = isKept;
        this.shapes = new Shapes(internals);
    }

    /** Whether something was too large to be read completely. */
    boolean isInPart() {
        return isInPart;
    }

    /** Reads the value of a static field. */
    Node read(Object root) {
        seen = new IdentityHashMap<>();
        if (root instanceof Enum && project.contains(root.getClass().getName())) {
            // Elsewhere this is only named; but its fields are state like any other.
            return fields(root, "", 0);
        }
        return read(root, "", 0);
    }

    private Node read(Object value, String path, int depth) {
        Node plain = plain(value);
        if (plain != null) {
            return plain;
        }
        Object inside = shapes.unwrap(value);
        String known = seen.get(inside);
        if (known != null) {
            return Node.whole(inside.getClass().getName(), "as " + known, "(this)", keep(value));
        }
        if (OBJECTS_MAX <= seen.size() || DEPTH_MAX <= depth) {
            isInPart = true;
            return opaque(value);
        }
        seen.put(inside, path);
        Node stamped = stamped(inside);
        Node node = stamped == null ? held(inside, path, depth) : stamped;
        node.wrapped = keep(value);
        return node;
    }

    /** Reads a value that cannot change; null for others. */
    private Node plain(Object value) {
        if (value == null) {
            return Node.whole("null", "null", "null", null);
        }
        String type = value.getClass().getName();
        if (value instanceof String) {
            String text = (String) value;
            String start = text.substring(0, Math.min(text.length(), STAMP_MAX));
            String stamp = start + " " + text.length() + " " + text.hashCode();
            return Node.whole(type, stamp, quote(text), keep(value));
        }
        if (value instanceof Enum) {
            String text = Node.simple(((Enum<?>) value).getDeclaringClass().getName())
                    + "." + ((Enum<?>) value).name();
            return Node.whole(type, text, text, keep(value));
        }
        if (value instanceof Class) {
            String name = ((Class<?>) value).getName();
            return Node.whole(type, name, Node.simple(name) + ".class", keep(value));
        }
        if (Shapes.isPlain(value)) {
            String text = value.toString();
            return Node.whole(type, text, Change.clip(text), keep(value));
        }
        return null;
    }

    /** Reads Java's own values that can change without holding anything; null for others. */
    private Node stamped(Object value) {
        String stamp;
        Object contents;
        Class<?> type = value.getClass();
        if (type == StringBuilder.class || type == StringBuffer.class) {
            contents = value.toString();
            stamp = quote((String) contents);
        } else if (type == Date.class) {
            contents = ((Date) value).getTime();
            stamp = "Date(" + contents + ")";
        } else if (type == BitSet.class) {
            contents = ((BitSet) value).clone();
            stamp = contents.toString();
        } else if (type == Random.class) {
            contents = ((AtomicLong) internals.field(Random.class, "seed", value)).get();
            stamp = "Random(state " + contents + ")";
        } else if (type.isArray() && type.getComponentType().isPrimitive()) {
            return numbers(value);
        } else {
            return null;
        }
        Node node = Node.whole(type.getName(), stamp, Change.clip(stamp), keep(value));
        node.contents = isKept ? contents : null;
        return node;
    }

    private Node numbers(Object array) {
        int length = Array.getLength(array);
        Object copy = Array.newInstance(array.getClass().getComponentType(), length);
        System.arraycopy(array, 0, copy, 0, length);
        StringBuilder stamp = new StringBuilder("[");
        long hash = length;
        for (int i = 0; i < length; i++) {
            Object number = Array.get(copy, i);
            hash = 31 * hash + number.hashCode();
            if (stamp.length() < Change.TEXT_MAX) {
                stamp.append(i == 0 ? "" : ", ").append(number);
            }
        }
        String text = Change.clip(stamp.append(']').toString());
        Node node = Node.whole(array.getClass().getName(), text + hash, text, keep(array));
        node.contents = isKept ? copy : null;
        return node;
    }

    private Node held(Object value, String path, int depth) {
        Class<?> type = value.getClass();
        if (type == Optional.class) {
            return box(value, ((Optional<?>) value).orElse(null), path, depth);
        } else if (type == AtomicReference.class) {
            return box(value, ((AtomicReference<?>) value).get(), path, depth);
        } else if (type == AtomicInteger.class || type == AtomicLong.class) {
            return box(value, ((Number) value).longValue(), path, depth);
        } else if (type == AtomicBoolean.class) {
            return box(value, ((AtomicBoolean) value).get(), path, depth);
        } else if (value instanceof ThreadLocal) {
            Object[] local = internals.local((ThreadLocal<?>) value);
            return local.length == 0
                    ? Node.holder(Node.Shape.BOX, value, isKept)
                    : box(value, local[0], path, depth);
        } else if (type.isArray()) {
            List<?> items = Arrays.asList((Object[]) value);
            return list(Node.Shape.ARRAY, value, items, path, depth);
        } else if (Shapes.isMap(value)) {
            return map((Map<?, ?>) value, path, depth);
        } else if (Shapes.isCollection(value)) {
            Node.Shape shape = value instanceof Set ? Node.Shape.SET : Node.Shape.LIST;
            List<?> items = Arrays.asList(((Collection<?>) value).toArray());
            return list(shape, value, items, path, depth);
        } else if (project.contains(type.getName()) && !Shapes.isAlive(value)) {
            return fields(value, path, depth);
        }
        return opaque(value);
    }

    private Node box(Object box, Object inside, String path, int depth) {
        Node node = Node.holder(Node.Shape.BOX, box, isKept);
        node.parts.put(".get()", read(inside, path + ".get()", depth + 1));
        return node;
    }

    private Node list(Node.Shape shape, Object value, List<?> items, String path, int depth) {
        if (ITEMS_MAX < items.size()) {
            return large(value, items.size());
        }
        Node node = Node.holder(shape, value, isKept);
        for (int i = 0; i < items.size(); i++) {
            String label = "[" + i + "]";
            Node item = read(items.get(i), path + label, depth + 1);
            // The elements of a set are identified by their contents.
            node.parts.put(shape == Node.Shape.SET ? free(node.parts, item.show()) : label, item);
        }
        return node;
    }

    private Node map(Map<?, ?> map, String path, int depth) {
        if (ITEMS_MAX < map.size()) {
            return large(map, map.size());
        }
        Node node = Node.holder(Node.Shape.MAP, map, isKept);
        // Matched by name, because the map may have reordered them since.
        Map<String, Object[]> entries = new TreeMap<>();
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            String shown = read(entry.getKey(), path + ".key", depth + 1).show();
            if (KEY_TEXT_MAX < shown.length()) {
                shown = shown.substring(0, KEY_TEXT_MAX) + "…";
            }
            String label = free(entries, ".get(" + shown + ")");
            entries.put(label, new Object[] {entry.getKey(), entry.getValue()});
        }
        entries.forEach((label, entry) -> {
            node.parts.put(label, read(entry[1], path + label, depth + 1));
            node.keys.put(label, keep(entry[0]));
        });
        return node;
    }

    private static String free(Map<String, ?> taken, String label) {
        String free = label;
        for (int n = 2; taken.containsKey(free); n++) {
            free = label.substring(0, label.length() - 1) + " #" + n + ")";
        }
        return free;
    }

    private Node fields(Object value, String path, int depth) {
        Node node = Node.holder(Node.Shape.FIELDS, value, isKept);
        for (Class<?> at = value.getClass(); at != null; at = at.getSuperclass()) {
            if (at.getClassLoader() == null) {
                // What it inherits from a class of Java's could only be read through the program.
                isInPart |= value instanceof Collection || value instanceof Map;
                break;
            }
            for (Field field : at.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || field.isSynthetic()) {
                    continue;
                }
                String label = "." + field.getName();
                if (!node.parts.containsKey(label)) {
                    node.parts.put(label, read(get(field, value), path + label, depth + 1));
                    node.keys.put(label, field);
                }
            }
        }
        return node;
    }

    static Object get(Field field, Object target) {
        try {
            field.setAccessible(true);
            return field.get(target);
        } catch (ReflectiveOperationException | RuntimeException closed) {
            return null;
        }
    }

    private Node large(Object value, int size) {
        isInPart = true;
        String text = "<" + value.getClass().getName() + " of " + size + " items>";
        return Node.whole(value.getClass().getName(), text, text, keep(value));
    }

    private Node opaque(Object value) {
        String type = value.getClass().getName();
        String stamp = type + "@" + System.identityHashCode(value);
        return Node.whole(type, stamp, "<" + type.replaceAll("/.*", "") + ">", keep(value));
    }

    private Object keep(Object value) {
        return isKept ? value : null;
    }

    private static String quote(String text) {
        String start = text.substring(0, Math.min(text.length(), Change.TEXT_MAX + 1));
        return Change.clip('"' + start.replace("\n", "\\n") + '"');
    }
}
