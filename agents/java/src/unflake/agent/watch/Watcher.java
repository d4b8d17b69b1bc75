package unflake.agent.watch;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.agent.wire.Json;

/**
 * What did each test leave changed, and what if it had not?
 *
 * <p>State is read before the first test and after each one; the difference is what that test
 * changed. If a run asks for it, some of the state is put back between two tests; then the
 * beginning is remembered with everything it held, and not only its looks.
 *
 * <p>A class that a test is the first to use has no state before that test. So the classes that the
 * tests of this run will use are initialised first ({@link UsedClasses}).
 */
public final class Watcher implements Watch {
    /** How many changes of one attempt are reported; the rest is only counted. */
    private static final int CHANGES_MAX = 50;
    private static final int RESTORED_MAX = 1_000;

    private final Heap heap;
    private final ProcessState process;
    /** The kinds to report; null for none. */
    private final Set<String> kinds;
    private final Wish wish;
    private final State first;
    private State last;

    /** What to put back, and when. */
    public static final class Wish {
        final int before;
        final List<String> items;
        final boolean isAllBut;

        public Wish(int before, List<String> items, boolean isAllBut) {
            this.before = before;
            this.items = items;
            this.isAllBut = isAllBut;
        }

        private boolean has(Change change) {
            boolean isNamed = false;
            for (String item : items) {
                isNamed |= change.isConcernedBy(item);
            }
            return isNamed != isAllBut;
        }
    }

    private static final class State {
        final Map<Field, Node> nodes;
        final ProcessState.Reading reading;

        State(Map<Field, Node> nodes, ProcessState.Reading reading) {
            this.nodes = nodes;
            this.reading = reading;
        }
    }

    public Watcher(Heap heap, Set<String> kinds, Wish wish) {
        this.heap = heap;
        this.kinds = kinds;
        this.wish = wish;
        process = new ProcessState(heap.internals());
        first = wish == null ? null : read(true);
        last = kinds == null ? null : read(false);
    }

    private State read(boolean isKept) {
        return new State(heap.read(isKept), process.read());
    }

    private List<Change> changes(State before, State after) {
        List<Change> changes = heap.changes(before.nodes, after.nodes);
        changes.addAll(process.changes(before.reading, after.reading));
        return changes;
    }

    @Override
    public boolean isDue(int position) {
        return wish != null && wish.before == position;
    }

    @Override
    public void look(Map<String, Object> end) {
        if (kinds == null) {
            return;
        }
        State now = read(false);
        List<Object> told = new ArrayList<>();
        int n = 0;
        for (Change change : changes(last, now)) {
            if (!kinds.contains("all") && !kinds.contains(change.kind)) {
                continue;
            }
            n++;
            if (told.size() < CHANGES_MAX) {
                told.add(change.say());
            }
        }
        last = now;
        end.put("changes", told);
        end.put("more", n - told.size());
    }

    @Override
    public Map<String, Object> restore() {
        List<Object> items = new ArrayList<>();
        List<Object> failed = new ArrayList<>();
        List<Change> wanted = changes(first, read(true));
        wanted.removeIf(change -> !wish.has(change));
        for (Change change : wanted) {
            String why = change.undo();
            if (why == null && items.size() < RESTORED_MAX) {
                items.add(change.where);
            } else if (why != null && failed.size() < RESTORED_MAX) {
                failed.add(Json.object("where", change.where, "why", why));
            }
        }
        for (String item : wish.items) {
            boolean isTouched = wish.isAllBut;
            for (Change change : wanted) {
                isTouched |= change.isConcernedBy(item);
            }
            if (!isTouched) {
                failed.add(Json.object("where", item, "why", "it had not changed"));
            }
        }
        if (kinds != null) {
            last = read(false);
        }
        return Json.object("items", items, "failed", failed);
    }

    @Override
    public Map<String, Object> lastWords() {
        return heap.isInPart() ? Json.object("in_part", true) : Json.object();
    }
}
