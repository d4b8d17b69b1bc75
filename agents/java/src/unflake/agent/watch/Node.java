package unflake.agent.watch;

import java.util.LinkedHashMap;
import java.util.Map;

/** What a value held when it was read: one text, or parts named as in Java. */
final class Node {
    /** How a value holds its parts, and so how one of them is put back. */
    enum Shape { WHOLE, FIELDS, MAP, LIST, ARRAY, SET, BOX }

    final Shape shape;
    /** The name of its class. */
    final String type;
    /** For a value without parts: equal stamps mean equal values. */
    final String stamp;
    /** For a value without parts: the text that shows it. */
    private final String text;
    /** For a value with parts: its identity. */
    final int identity;
    /** The value without wrappers; null unless it may have to be put back. */
    final Object value;
    /** The value with its wrappers. */
    Object wrapped;
    /** What is needed to restore a value without parts, if it can change. */
    Object contents;
    final Map<String, Node> parts = new LinkedHashMap<>();
    /** The keys of a map, by the names of the parts. */
    final Map<String, Object> keys = new LinkedHashMap<>();

    private Node(Shape shape, String type, String stamp, String text, Object value, int identity) {
        this.shape = shape;
        this.type = type;
        this.stamp = stamp;
        this.text = text;
        this.value = value;
        this.wrapped = value;
        this.identity = identity;
    }

    static Node whole(String type, String stamp, String text, Object value) {
        return new Node(Shape.WHOLE, type, stamp, text, value, 0);
    }

    static Node holder(Shape shape, Object value, boolean isKept) {
        int identity = System.identityHashCode(value);
        String type = value.getClass().getName();
        return new Node(shape, type, null, null, isKept ? value : null, identity);
    }

    boolean isSame(Node other) {
        if (shape != other.shape || !type.equals(other.type)
                || parts.size() != other.parts.size()) {
            return false;
        }
        if (shape == Shape.WHOLE) {
            return stamp.equals(other.stamp);
        }
        for (Map.Entry<String, Node> part : parts.entrySet()) {
            Node there = other.parts.get(part.getKey());
            if (there == null || !part.getValue().isSame(there)) {
                return false;
            }
        }
        return true;
    }

    /** As much of the value as is worth reading. */
    String show() {
        StringBuilder out = new StringBuilder();
        show(out);
        return Change.clip(out.toString());
    }

    private void show(StringBuilder out) {
        if (shape == Shape.WHOLE) {
            out.append(text);
            return;
        }
        boolean isList = shape == Shape.LIST || shape == Shape.ARRAY || shape == Shape.SET;
        boolean isNamed = shape == Shape.FIELDS || shape == Shape.BOX;
        out.append(isNamed ? simple(type) + "(" : isList ? "[" : "{");
        String comma = "";
        for (Map.Entry<String, Node> part : parts.entrySet()) {
            if (Change.TEXT_MAX < out.length()) {
                break;
            }
            out.append(comma);
            if (shape == Shape.FIELDS) {
                out.append(part.getKey().substring(1)).append('=');
            } else if (shape == Shape.MAP) {
                String label = part.getKey();
                out.append(label, ".get(".length(), label.length() - 1).append('=');
            }
            part.getValue().show(out);
            comma = ", ";
        }
        out.append(isNamed ? ")" : isList ? "]" : "}");
    }

    /** The name without package and outer classes; an anonymous class is named by its number. */
    static String simple(String type) {
        String name = type.substring(type.lastIndexOf('.') + 1);
        String inner = name.substring(name.lastIndexOf('$') + 1);
        return inner.isEmpty() || Character.isDigit(inner.charAt(0)) ? name : inner;
    }
}
