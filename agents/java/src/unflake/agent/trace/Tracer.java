package unflake.agent.trace;

import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.agent.wire.Json;

/**
 * Which functions does each test call?
 *
 * <p>From the moment the runner reaches a test until it is done with it, on all threads, the places
 * that code reaches ({@link Probe}) are reported by name. A method of Java's own is named by the
 * class that defines it, whichever class the caller uses, and counts only if that class is Java's.
 */
public final class Tracer {
    private static final ClassLoader PLATFORM = ClassLoader.getSystemClassLoader().getParent();
    private static final String BEGIN = "<init>";
    private static final String DIGITS = "0123456789abcdef";
    private static final int NOBODY = -1;

    /** The numbers by which the engine knows functions, including new ones. */
    private final Map<String, Integer> numbers = new HashMap<>();
    private final Map<Integer, Integer> byPlace = new HashMap<>();
    private List<Object> news = new ArrayList<>();

    private Set<Integer> called = new LinkedHashSet<>();
    private boolean isOpen;

    /** A test begins, or continues: it may have several parts. */
    public void open() {
        if (!isOpen) {
            isOpen = true;
            Probe.open();
        }
    }

    /** A test, or part of one, is over. */
    public void close() {
        if (!isOpen) {
            return;
        }
        isOpen = false;
        for (int place : Probe.close()) {
            int number = byPlace.computeIfAbsent(place, key -> number(Probe.place(key)));
            if (number != NOBODY) {
                called.add(number);
            }
        }
    }

    /** The message about the test that is over; the next test begins with nothing. */
    public Map<String, Object> take(int position, int attempt) {
        close();
        StringBuilder digits = new StringBuilder();
        for (int number : called) {
            for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
                digits.append(DIGITS.charAt(number >> shift + 4 & 15));
                digits.append(DIGITS.charAt(number >> shift & 15));
            }
        }
        Map<String, Object> body = Json.object(
                "position", position,
                "attempt", attempt,
                "functions", digits.toString(),
                "names", news);
        called = new LinkedHashSet<>();
        news = new ArrayList<>();
        return body;
    }

    private int number(Probe.Place place) {
        String owner = place.owner;
        if (place.file == null) {
            owner = definer(place);
            if (owner == null) {
                return NOBODY;
            }
        }
        int end = owner.lastIndexOf('/');
        String module = end < 0 ? "<unnamed>" : owner.substring(0, end).replace('/', '.');
        String name = owner.substring(end + 1) + "." + place.method + parameters(place.signature);
        Integer known = numbers.get(module + ":" + name);
        if (known != null) {
            return known;
        }
        int number = numbers.size();
        numbers.put(module + ":" + name, number);
        Map<String, Object> told = Json.object("module", module, "name", name);
        if (place.file != null) {
            told.put("file", owner.substring(0, end + 1) + place.file);
            told.put("line", place.line);
        }
        news.add(told);
        return number;
    }

    /** The class of Java's own that defines the method; null if none does. */
    private static String definer(Probe.Place place) {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        try {
            Class<?> type = Class.forName(place.owner.replace('/', '.'), false, loader);
            if (!place.method.equals(BEGIN)) {
                Class<?>[] parameters = MethodType
                        .fromMethodDescriptorString(place.signature, loader)
                        .parameterArray();
                Class<?> found = definer(type, place.method, parameters);
                // A method that takes any arguments (`MethodHandle.invoke`) is not found.
                type = found == null ? type : found;
            }
            ClassLoader by = type.getClassLoader();
            return by == null || by == PLATFORM ? type.getName().replace('.', '/') : null;
        } catch (ReflectiveOperationException | LinkageError | RuntimeException unknown) {
            return null;
        }
    }

    private static Class<?> definer(Class<?> type, String method, Class<?>[] parameters) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            try {
                at.getDeclaredMethod(method, parameters);
                return at;
            } catch (NoSuchMethodException inherited) {
                continue;
            }
        }
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (Class<?> one : at.getInterfaces()) {
                Class<?> found = definer(one, method, parameters);
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }

    /** The types as they are written in code: {@code (int,String[])}. */
    static String parameters(String signature) {
        List<String> words = new ArrayList<>();
        int at = 1;
        while (signature.charAt(at) != ')') {
            int nDeep = 0;
            while (signature.charAt(at) == '[') {
                nDeep++;
                at++;
            }
            int end = signature.charAt(at) == 'L' ? signature.indexOf(';', at) : at;
            StringBuilder word = new StringBuilder(word(signature, at, end));
            for (int i = 0; i < nDeep; i++) {
                word.append("[]");
            }
            words.add(word.toString());
            at = end + 1;
        }
        return "(" + String.join(",", words) + ")";
    }

    private static String word(String signature, int at, int end) {
        switch (signature.charAt(at)) {
            case 'L':
                return signature.substring(Math.max(at, signature.lastIndexOf('/', end)) + 1, end);
            case 'B':
                return "byte";
            case 'C':
                return "char";
            case 'D':
                return "double";
            case 'F':
                return "float";
            case 'I':
                return "int";
            case 'J':
                return "long";
            case 'S':
                return "short";
            default:
                return "boolean";
        }
    }
}
