package unflake.agent.wire;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;

/** Foreign text, bounded: what a failure says. It can be anything, and reading it may fail. */
public final class Text {
    private static final int LENGTH_MAX = 64 * 1024;
    /** Code that runs the tests: the same in every trace. */
    private static final String[] RUNNER = {
        "unflake.agent.", "org.junit.", "junit.framework.", "jdk.internal.reflect.",
        "java.lang.reflect.", "sun.reflect.",
    };
    private static final String[] JAVA = {"java.", "javax.", "jdk.", "sun."};

    private Text() {}

    /** Text that is too long loses its middle. */
    public static String bounded(String text) {
        if (text.length() <= LENGTH_MAX) {
            return text;
        }
        int half = LENGTH_MAX / 2;
        return text.substring(0, half)
                + "\n[... " + (text.length() - 2 * half) + " characters cut out ...]\n"
                + text.substring(text.length() - half);
    }

    /** The first line that says something. */
    public static String line(String text) {
        for (String line : text.split("\\R")) {
            if (!line.trim().isEmpty()) {
                return line.trim();
            }
        }
        return "";
    }

    public static String of(Throwable failure) {
        try {
            String text = failure.toString();
            return text == null ? failure.getClass().getName() : text;
        } catch (Throwable broken) {
            return failure.getClass().getName();
        }
    }

    /** The stack trace, with the frames that show where in the project it was. */
    public static String trace(Throwable failure) {
        StringWriter out = new StringWriter();
        try {
            failure.printStackTrace(new PrintWriter(out));
        } catch (Throwable broken) {
            return of(failure) + "\n" + out;
        }
        return telling(out.toString());
    }

    /** The stack trace without frames of the runner, and without those below the test. */
    static String telling(String trace) {
        StringBuilder text = new StringBuilder();
        List<String> frames = new ArrayList<>();
        for (String line : trace.split("\n")) {
            if (line.trim().startsWith("at ")) {
                frames.add(line);
            } else {
                flush(frames, text);
                text.append(line).append('\n');
            }
        }
        flush(frames, text);
        return text.toString();
    }

    private static void flush(List<String> frames, StringBuilder text) {
        int last = frames.size() - 1;
        while (0 <= last && (isOf(frames.get(last), RUNNER) || isOf(frames.get(last), JAVA))) {
            last--;
        }
        boolean isTold = 0 <= last;
        for (String frame : isTold ? frames.subList(0, last + 1) : frames) {
            if (!isTold || !isOf(frame, RUNNER)) {
                text.append(frame).append('\n');
            }
        }
        frames.clear();
    }

    private static boolean isOf(String frame, String[] packages) {
        String place = frame.trim().substring("at ".length());
        int parenthesis = place.indexOf('(');
        String name = parenthesis < 0 ? place : place.substring(0, parenthesis);
        name = name.substring(name.lastIndexOf('/') + 1);
        for (String start : packages) {
            if (name.startsWith(start)) {
                return true;
            }
        }
        return false;
    }
}
