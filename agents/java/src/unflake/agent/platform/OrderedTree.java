package unflake.agent.platform;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.junit.platform.engine.TestDescriptor;
import unflake.agent.run.Slot;

/**
 * How can a tree be arranged so that walking it gives a certain order?
 *
 * <p>First all trees are taken apart; then, attempt by attempt, the containers around it are
 * opened, except those that are still open. If a container or a test is needed a second time, it is
 * taken from a second copy of the tree, which the engine builds under another name: names must be
 * unique within one tree, and nothing else looks at them.
 */
final class OrderedTree {
    /** The attempts, by the unique ids of tests and of the containers around them. */
    private final Map<String, Slot> slots = new HashMap<>();
    private final Map<String, Set<Slot>> around = new HashMap<>();

    private final Map<String, List<TestTree>> copies = new HashMap<>();
    private final Map<String, Integer> used = new HashMap<>();
    private BiFunction<String, Integer, TestDescriptor> builder;
    private TestDescriptor root;

    /**
     * The tree for these attempts; {@code builder} builds the tree of a class, in several copies.
     */
    TestDescriptor arrange(
            List<Slot> wanted, BiFunction<String, Integer, TestDescriptor> builder) {
        this.builder = builder;
        // From the outside: the open containers, and their paths.
        List<String> open = new ArrayList<>();
        List<TestDescriptor> opened = new ArrayList<>();
        String top = null;
        for (Slot slot : wanted) {
            TestTree first = copy(slot.test.top, 0);
            TestTree.Unit unit = first.unit(slot.test.id);
            if (unit == null) {
                throw new IllegalStateException("`" + slot.test.id + "` is not there any more");
            }
            int kept = slot.test.top.equals(top) ? common(open, unit.around) : 0;
            top = slot.test.top;
            open = unit.around;
            opened.subList(kept, opened.size()).clear();
            for (String path : open.subList(kept, open.size())) {
                TestDescriptor container = next(top, path).containers.get(path);
                parent(opened).addChild(container);
                opened.add(container);
            }
            for (TestDescriptor test : next(top, unit.id).unit(unit.id).descriptors) {
                parent(opened).addChild(test);
                slots.put(test.getUniqueId().toString(), slot);
            }
            for (TestDescriptor container : opened) {
                String id = container.getUniqueId().toString();
                around.computeIfAbsent(id, key -> new LinkedHashSet<>()).add(slot);
            }
        }
        around.put(root.getUniqueId().toString(), new LinkedHashSet<>(wanted));
        return root;
    }

    Slot slot(String id) {
        return slots.get(id);
    }

    /** Remembers a test that appeared while another one ran: one of its invocations. */
    void adopt(String id, Slot slot) {
        slots.put(id, slot);
    }

    /** The attempts below a container; none if we have not placed it. */
    Set<Slot> below(String id) {
        return around.getOrDefault(id, new LinkedHashSet<>());
    }

    private TestDescriptor parent(List<TestDescriptor> opened) {
        return opened.isEmpty() ? root : opened.get(opened.size() - 1);
    }

    private static int common(List<String> one, List<String> other) {
        int n = 0;
        while (n < one.size() && n < other.size() && one.get(n).equals(other.get(n))) {
            n++;
        }
        return n;
    }

    /** The next copy in which this has not been used yet. */
    private TestTree next(String top, String what) {
        int number = used.merge(top + " " + what, 1, Integer::sum) - 1;
        return copy(top, number);
    }

    private TestTree copy(String top, int number) {
        List<TestTree> trees = copies.computeIfAbsent(top, key -> new ArrayList<>());
        while (trees.size() <= number) {
            TestDescriptor built = builder.apply(top, trees.size());
            TestTree tree = new TestTree(built);
            if (root == null) {
                root = built;
            }
            takeApart(built, tree);
            trees.add(tree);
        }
        return trees.get(number);
    }

    private static void takeApart(TestDescriptor built, TestTree tree) {
        List<TestDescriptor> parents = new ArrayList<>(tree.containers.values());
        parents.add(built);
        for (TestDescriptor parent : parents) {
            for (TestDescriptor child : new ArrayList<>(parent.getChildren())) {
                parent.removeChild(child);
            }
        }
    }
}
