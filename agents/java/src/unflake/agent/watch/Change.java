package unflake.agent.watch;

import java.util.Map;
import unflake.agent.wire.Json;
import unflake.agent.wire.Text;

/** One thing that is different from what it was. */
final class Change {
    /** Characters of a value that are shown; who needs more looks at the value itself. */
    static final int TEXT_MAX = 200;

    final String where;
    final String kind;
    /** Null if it was not there. */
    final String before;
    /** Null if it is gone. */
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

    /** Null if it is as it was, else why not. */
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
     * Whether an item that was asked for is this one, is part of it, or holds it: the same state
     * can be told in finer or coarser grains.
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
