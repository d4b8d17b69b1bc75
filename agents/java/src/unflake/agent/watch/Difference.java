package unflake.agent.watch;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import unflake.agent.jvm.JavaInternals;

/**
 * What is different between two readings of a value, and how is it undone?
 *
 * <p>Changes are reported in the finest grains that can be put back: the entry of a map, the field
 * of an object. What was replaced by another object, has another size, or has no order is reported
 * as a whole. A change is undone in the object itself if that is still the same one, else by
 * putting the old object in its place, with what it held then.
 */
final class Difference {
    /** A list with more changed items is reported as a whole. */
    private static final int ITEMS_TOLD_MAX = 5;

    private final String kind;
    private final List<Change> changes = new ArrayList<>();
    private final JavaInternals internals;

    Difference(String kind, JavaInternals internals) {
        this.kind = kind;
        this.internals = internals;
    }

    List<Change> changes() {
        return changes;
    }

    /** Puts a value where another one is. */
    interface Put {
        void put(Object value) throws Exception;
    }

    /** Compares the old and the new value of a place; null for a place that does not exist. */
    void compare(String where, Node was, Node is, Put put, Change.Undo remove) {
        if (was == null) {
            add(where, null, is.show(), remove);
        } else if (is == null) {
            add(where, was.show(), null, () -> rebind(was, put));
        } else if (!was.isSame(is)) {
            boolean isOne = was.shape == is.shape && was.type.equals(is.type)
                    && was.identity == is.identity;
            if (isOne && was.shape != Node.Shape.WHOLE && isToldInParts(was, is)) {
                compareParts(where, was, is);
            } else {
                add(where, was.show(), is.show(), () -> rebind(was, put));
            }
        }
    }

    private void add(String where, String before, String after, Change.Undo undo) {
        changes.add(new Change(Change.clip(where), kind, before, after, undo));
    }

    private static boolean isToldInParts(Node was, Node is) {
        if (was.shape == Node.Shape.SET) {
            return false;
        }
        if (was.shape != Node.Shape.LIST && was.shape != Node.Shape.ARRAY) {
            return true;
        }
        int n = 0;
        for (Map.Entry<String, Node> part : was.parts.entrySet()) {
            Node there = is.parts.get(part.getKey());
            n += there == null || !part.getValue().isSame(there) ? 1 : 0;
        }
        return was.parts.size() == is.parts.size() && n <= ITEMS_TOLD_MAX;
    }

    private void compareParts(String where, Node was, Node is) {
        Set<String> labels = new LinkedHashSet<>(was.parts.keySet());
        labels.addAll(is.parts.keySet());
        for (String label : labels) {
            compare(where + label, was.parts.get(label), is.parts.get(label),
                    value -> putPart(was, label, value), () -> removePart(was, is, label));
        }
    }

    /** Puts back the old value, with what it held. */
    private void rebind(Node was, Put put) throws Exception {
        boolean hadContents = was.shape != Node.Shape.WHOLE || was.contents != null;
        if (hadContents) {
            reset(was);
        }
        try {
            put.put(was.wrapped);
        } catch (Exception closed) {
            // If the object is the same, only its contents need to be put back.
            if (!hadContents) {
                throw closed;
            }
        }
    }

    /** Restores the contents of everything below. */
    private void reset(Node node) throws Exception {
        if (node.shape == Node.Shape.WHOLE) {
            resetWhole(node);
            return;
        }
        for (Node part : node.parts.values()) {
            if (part.shape != Node.Shape.WHOLE || part.contents != null) {
                reset(part);
            }
        }
        if (node.shape == Node.Shape.LIST || node.shape == Node.Shape.SET) {
            resetCollection(node);
        } else if (node.shape == Node.Shape.MAP) {
            resetMap(node);
        } else {
            for (Map.Entry<String, Node> part : node.parts.entrySet()) {
                putPart(node, part.getKey(), part.getValue().wrapped);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static void resetCollection(Node node) {
        List<Object> items = new ArrayList<>();
        node.parts.values().forEach(part -> items.add(part.wrapped));
        Collection<Object> collection = (Collection<Object>) node.value;
        if (!isEqual(collection.toArray(), items)) {
            collection.clear();
            collection.addAll(items);
        }
    }

    private static boolean isEqual(Object[] one, List<Object> other) {
        boolean isEqual = one.length == other.size();
        for (int i = 0; isEqual && i < one.length; i++) {
            isEqual = one[i] == other.get(i);
        }
        return isEqual;
    }

    @SuppressWarnings("unchecked")
    private static void resetMap(Node node) {
        Map<Object, Object> entries = new LinkedHashMap<>();
        node.parts.forEach((label, part) -> entries.put(node.keys.get(label), part.wrapped));
        Map<Object, Object> map = (Map<Object, Object>) node.value;
        map.clear();
        map.putAll(entries);
    }

    private void resetWhole(Node node) {
        Object value = node.value;
        Object contents = node.contents;
        if (value instanceof StringBuilder) {
            ((StringBuilder) value).replace(0, ((StringBuilder) value).length(), (String) contents);
        } else if (value instanceof StringBuffer) {
            ((StringBuffer) value).replace(0, ((StringBuffer) value).length(), (String) contents);
        } else if (value instanceof Date) {
            ((Date) value).setTime((Long) contents);
        } else if (value instanceof BitSet) {
            ((BitSet) value).clear();
            ((BitSet) value).or((BitSet) contents);
        } else if (value instanceof Random) {
            ((AtomicLong) internals.field(Random.class, "seed", value)).set((Long) contents);
        } else {
            int length = java.lang.reflect.Array.getLength(contents);
            System.arraycopy(contents, 0, value, 0, length);
        }
    }

    @SuppressWarnings("unchecked")
    private static void putPart(Node node, String label, Object value) throws Exception {
        Object holder = node.value;
        int index = new ArrayList<>(node.parts.keySet()).indexOf(label);
        if (node.shape == Node.Shape.FIELDS) {
            Field field = (Field) node.keys.get(label);
            field.setAccessible(true);
            field.set(holder, value);
        } else if (node.shape == Node.Shape.MAP) {
            ((Map<Object, Object>) holder).put(node.keys.get(label), value);
        } else if (node.shape == Node.Shape.ARRAY) {
            ((Object[]) holder)[index] = value;
        } else if (node.shape == Node.Shape.LIST && holder instanceof List) {
            ((List<Object>) holder).set(index, value);
        } else if (node.shape == Node.Shape.LIST) {
            List<Object> items = new ArrayList<>(Arrays.asList(((Collection<?>) holder).toArray()));
            items.set(index, value);
            ((Collection<Object>) holder).clear();
            ((Collection<Object>) holder).addAll(items);
        } else if (holder instanceof AtomicReference) {
            ((AtomicReference<Object>) holder).set(value);
        } else if (holder instanceof AtomicInteger) {
            ((AtomicInteger) holder).set(((Long) value).intValue());
        } else if (holder instanceof AtomicLong) {
            ((AtomicLong) holder).set((Long) value);
        } else if (holder instanceof AtomicBoolean) {
            ((AtomicBoolean) holder).set((Boolean) value);
        } else if (holder instanceof ThreadLocal) {
            ((ThreadLocal<Object>) holder).set(value);
        } else {
            throw new IllegalStateException("a " + node.type + " cannot be changed");
        }
    }

    private static void removePart(Node was, Node is, String label) {
        if (was.shape == Node.Shape.MAP) {
            // The key is new, so that only the later reading has it.
            removeKey((Map<?, ?>) was.value, is.keys.get(label));
        } else if (was.value instanceof ThreadLocal) {
            ((ThreadLocal<?>) was.value).remove();
        } else {
            throw new IllegalStateException("it cannot be taken out");
        }
    }

    private static void removeKey(Map<?, ?> map, Object key) {
        map.remove(key);
    }
}
