package unflake.agent;

import java.io.PrintWriter;
import java.io.StringWriter;

/** Foreign text, bounded: what a failure says. It may be anything, and may fail in saying it. */
final class Text {
    private static final int LENGTH_MAX = 64 * 1024;
    private static final String OURS = "unflake.agent.";

    private Text() {}

    /** The middle is cut out of what is too long. */
    static String bounded(String text) {
        if (text.length() <= LENGTH_MAX) {
            return text;
        }
        int half = LENGTH_MAX / 2;
        return text.substring(0, half)
                + "\n[... " + (text.length() - 2 * half) + " characters cut out ...]\n"
                + text.substring(text.length() - half);
    }

    /** The first line that says something. */
    static String line(String text) {
        for (String line : text.split("\\R")) {
            if (!line.trim().isEmpty()) {
                return line.trim();
            }
        }
        return "";
    }

    static String of(Throwable failure) {
        try {
            String text = failure.toString();
            return text == null ? failure.getClass().getName() : text;
        } catch (Throwable broken) {
            return failure.getClass().getName();
        }
    }

    /** The stack trace, down to where our own begins. */
    static String trace(Throwable failure) {
        StringWriter out = new StringWriter();
        try {
            failure.printStackTrace(new PrintWriter(out));
        } catch (Throwable broken) {
            return of(failure) + "\n" + out;
        }
        StringBuilder text = new StringBuilder();
        boolean isOurs = false;
        for (String line : out.toString().split("\n")) {
            boolean isFrame = line.trim().startsWith("at ");
            isOurs = isFrame && (isOurs || line.contains(OURS));
            if (!isOurs) {
                text.append(line).append('\n');
            }
        }
        return text.toString();
    }
}
