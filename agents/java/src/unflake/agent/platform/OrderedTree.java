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
 * How does a tree look that is walked in a given order?
 *
 * <p>All trees are taken apart first; then the attempts are gone through, and for each one the
 * containers around it are opened, those that still are open being kept. A container or a test that
 * is needed a second time is taken from a second copy of the tree, built by the engine under
 * another name: names must be different within one tree, and nothing else looks at them.
 */
final class OrderedTree {
    /** The attempts by the unique ids of tests, and of the containers around them. */
    private final Map<String, Slot> slots = new HashMap<>();
    private final Map<String, Set<Slot>> around = new HashMap<>();

    private final Map<String, List<TestTree>> copies = new HashMap<>();
    private final Map<String, Integer> used = new HashMap<>();
    private BiFunction<String, Integer, TestDescriptor> builder;
    private TestDescriptor root;

    /** The tree for these attempts; {@code builder} builds that of a class, in several copies. */
    TestDescriptor arrange(
            List<Slot> wanted, BiFunction<String, Integer, TestDescriptor> builder) {
        this.builder = builder;
        // From the outside: what is open now, and by which path.
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

    /** Remembers a test that came up while another ran: one of its invocations. */
    void adopt(String id, Slot slot) {
        slots.put(id, slot);
    }

    /** The attempts below a container; none if it is one we have not placed. */
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

    /** The next copy in which something has not been used yet. */
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
