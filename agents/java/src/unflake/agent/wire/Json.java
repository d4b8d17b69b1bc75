package unflake.agent.wire;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How is a message written and read as JSON?
 *
 * <p>Only what the protocol needs: objects, lists, strings, numbers, booleans and null. Output is
 * ASCII, so that foreign text, lone surrogates included, cannot break a reader that is strict about
 * UTF-8.
 */
public final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Maps (in order), lists, strings, doubles, booleans and null. */
    public static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.blanks();
        if (json.at != text.length()) {
            throw json.fault("the end");
        }
        return value;
    }

    /** An object made of alternating names and values; null values are left out. */
    public static Map<String, Object> object(Object... pairs) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            if (pairs[i + 1] != null) {
                object.put((String) pairs[i], pairs[i + 1]);
            }
        }
        return object;
    }

    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                quote((String) entry.getKey(), out);
                out.append(':');
                write(entry.getValue(), out);
                separator = ",";
            }
            out.append(separator.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String separator = "[";
            for (Object item : (Iterable<?>) value) {
                out.append(separator);
                write(item, out);
                separator = ",";
            }
            out.append(separator.equals("[") ? "[]" : "]");
        } else if (value instanceof String) {
            quote((String) value, out);
        } else {
            out.append(value);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c == '\n') {
                out.append("\\n");
            } else if (isLoneSurrogate(text, i)) {
                // A strict reader knows no character for it: shown as an escape.
                out.append("\\\\u").append(hex(c));
            } else if (c < ' ' || c > '~') {
                out.append("\\u").append(hex(c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private static boolean isLoneSurrogate(String text, int i) {
        char c = text.charAt(i);
        if (Character.isHighSurrogate(c)) {
            return i + 1 == text.length() || !Character.isLowSurrogate(text.charAt(i + 1));
        }
        return Character.isLowSurrogate(c)
                && (i == 0 || !Character.isHighSurrogate(text.charAt(i - 1)));
    }

    private static String hex(char c) {
        String digits = Integer.toHexString(c);
        return "0000".substring(digits.length()) + digits;
    }

    private Object value() {
        blanks();
        char c = at < text.length() ? text.charAt(at) : '\0';
        switch (c) {
            case '{':
                return objectValue();
            case '[':
                return list();
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> objectValue() {
        Map<String, Object> object = new LinkedHashMap<>();
        at++;
        while (!isClosed('}', object.isEmpty())) {
            blanks();
            String name = string();
            expect(':');
            object.put(name, value());
        }
        return object;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        at++;
        while (!isClosed(']', list.isEmpty())) {
            list.add(value());
        }
        return list;
    }

    private boolean isClosed(char close, boolean isFirst) {
        blanks();
        if (at < text.length() && text.charAt(at) == close) {
            at++;
            return true;
        }
        if (!isFirst) {
            expect(',');
        }
        return false;
    }

    private String string() {
        expect('"');
        int start = at;
        while (at < text.length() && text.charAt(at) != '"' && text.charAt(at) != '\\') {
            at++;
        }
        String plain = text.substring(start, at);
        if (at < text.length() && text.charAt(at) == '"') {
            at++;
            return plain;
        }
        StringBuilder out = new StringBuilder(plain);
        while (at < text.length() && text.charAt(at) != '"') {
            char c = text.charAt(at++);
            out.append(c == '\\' ? escaped() : c);
        }
        expect('"');
        return out.toString();
    }

    private char escaped() {
        char c = text.charAt(at++);
        switch (c) {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'u':
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            default:
                return c;
        }
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        if (start == at) {
            throw fault("a value");
        }
        return Double.valueOf(text.substring(start, at));
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw fault(word);
        }
        at += word.length();
        return value;
    }

    private void expect(char c) {
        blanks();
        if (at >= text.length() || text.charAt(at) != c) {
            throw fault("`" + c + "`");
        }
        at++;
    }

    private void blanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException fault(String wanted) {
        return new IllegalArgumentException("not JSON: no " + wanted + " at " + at);
    }
}
