package unflake.agent.watch;

import java.util.Map;
import unflake.agent.wire.Json;
import unflake.agent.wire.Text;

/** A difference between two states. */
final class Change {
    /** How many characters of a value are shown. */
    static final int TEXT_MAX = 200;

    final String where;
    final String kind;
    /** Null if there was none. */
    final String before;
    /** Null if there is none any more. */
    final String after;
    private final Undo undo;

    /** Puts something back. */
    interface Undo {
        void run() throws Exception;
    }

    Change(String where, String kind, String before, String after, Undo undo) {
        this.where = where;
        this.kind = kind;
        this.before = before;
        this.after = after;
        this.undo = undo;
    }

    /** Null if it was put back, else why not. */
    String undo() {
        try {
            undo.run();
            return null;
        } catch (Throwable fault) {
            String text = fault.getMessage();
            return text == null ? fault.getClass().getName() : Text.line(text);
        }
    }

    Map<String, Object> say() {
        return Json.object("where", where, "kind", kind, "before", before, "after", after);
    }

    /**
     * Whether a requested item is this one, part of it, or contains it: the same state can be
     * reported in finer or coarser grains.
     */
    boolean isConcernedBy(String item) {
        String brief = item.length() < where.length() ? item : where;
        String full = brief == item ? where : item;
        return full.startsWith(brief)
                && (full.length() == brief.length()
                        || "[. ".indexOf(full.charAt(brief.length())) != -1);
    }

    static Undo refuse(String why) {
        return () -> {
            throw new IllegalStateException(why);
        };
    }

    static String clip(String text) {
        return text.length() <= TEXT_MAX ? text : text.substring(0, TEXT_MAX - 1) + "…";
    }
}
