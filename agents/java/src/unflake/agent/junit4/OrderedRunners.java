package unflake.agent.junit4;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import junit.framework.TestSuite;
import org.junit.internal.runners.JUnit38ClassRunner;
import org.junit.runner.Description;
import org.junit.runner.Request;
import org.junit.runner.Runner;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.RunNotifier;
import org.junit.runners.ParentRunner;
import unflake.agent.run.Slot;

/**
 * How can a JUnit 4 runner be made to run its tests in a given order?
 *
 * <p>JUnit's own ways cannot: a sorter compares, so it cannot run a test twice, and classes that
 * fix their order ({@code @FixMethodOrder}) refuse it. But nearly every runner is a {@link
 * ParentRunner}, which has a list of the children it will run; we replace that list. A child that
 * is a runner itself (of a suite, of one set of parameters) is wrapped, so that it can occur
 * several times, each time with some of its tests. Runners that hide a parent runner inside
 * (Mockito's) are opened. For JUnit 3, a suite of our own does it.
 *
 * <p>Any other runner runs one test at a time, with the set-up and teardown of its class each time.
 */
final class OrderedRunners {
    /** How deeply runners may be nested in each other. */
    private static final int DEPTH_MAX = 3;

    private OrderedRunners() {}

    /** A runner, and the attempts that it will make. */
    static final class Part {
        final Runner runner;
        final List<Slot> slots;

        Part(Runner runner, List<Slot> slots) {
            this.runner = runner;
            this.slots = slots;
        }
    }

    static List<Part> of(Class<?> type, List<Slot> slots) throws Exception {
        Runner runner = Request.aClass(type).getRunner();
        if (runner instanceof JUnit38ClassRunner) {
            return Collections.singletonList(new Part(oldStyle(type, runner, slots), slots));
        }
        ParentRunner<?> parent = parentIn(runner, DEPTH_MAX);
        if (parent != null) {
            arrange(parent, children(parent), slots);
            return Collections.singletonList(new Part(runner, slots));
        }
        return oneByOne(type, slots);
    }

    /** Puts the children of a runner into the order of these attempts. */
    private static void arrange(ParentRunner<?> parent, List<Object> children, List<Slot> slots)
            throws Exception {
        Map<String, Object> owners = owners(parent, children);
        List<Object> arranged = new ArrayList<>();
        int from = 0;
        while (from < slots.size()) {
            String id = slots.get(from).test.id;
            Object child = owners.get(id);
            if (child == null) {
                throw new IllegalStateException("`" + id + "` was collected, but is not there");
            }
            int to = from + 1;
            if (child instanceof Runner) {
                while (to < slots.size() && owners.get(slots.get(to).test.id) == child) {
                    to++;
                }
                arranged.add(new Share((Runner) child, slots.subList(from, to)));
            } else {
                arranged.add(child);
            }
            from = to;
        }
        setChildren(parent, arranged);
    }

    /** The child that has each test: the first, if several have a test of that name. */
    private static Map<String, Object> owners(ParentRunner<?> parent, List<Object> children)
            throws Exception {
        Map<String, Object> owners = new HashMap<>();
        Method describe = children.isEmpty() ? null : describing(parent, children.get(0));
        for (Object child : children) {
            for (String id : JUnit4Backend.ids((Description) describe.invoke(parent, child))) {
                owners.putIfAbsent(id, child);
            }
        }
        return owners;
    }

    private static boolean has(Description description, String id) {
        if (description.isTest()) {
            return JUnit4Backend.id(description).equals(id);
        }
        for (Description child : description.getChildren()) {
            if (has(child, id)) {
                return true;
            }
        }
        return false;
    }

    /** A runner among the children of another one, with some of its tests. */
    private static final class Share extends Runner {
        private final Runner whole;
        private final ParentRunner<?> parent;
        /** All children; the list of the runner may hold those of another share. */
        private final List<Object> children;
        private final List<Slot> slots;

        Share(Runner whole, List<Slot> slots) throws Exception {
            this.whole = whole;
            this.parent = parentIn(whole, DEPTH_MAX);
            this.children = parent == null ? null : children(parent);
            this.slots = slots;
        }

        @Override
        public Description getDescription() {
            return whole.getDescription();
        }

        @Override
        public void run(RunNotifier notifier) {
            try {
                if (parent != null) {
                    arrange(parent, children, slots);
                }
            } catch (Exception fault) {
                throw new IllegalStateException(fault);
            }
            whole.run(notifier);
        }
    }

    private static Runner oldStyle(Class<?> type, Runner first, List<Slot> slots)
            throws Exception {
        TestSuite arranged = new TestSuite(type.getName());
        List<junit.framework.Test> left = leaves(first);
        for (Slot slot : slots) {
            junit.framework.Test test = take(left, slot.test.id);
            if (test == null) {
                // A test case can only run once; another run needs a new one.
                left = leaves(Request.aClass(type).getRunner());
                test = take(left, slot.test.id);
            }
            if (test != null) {
                arranged.addTest(test);
            }
        }
        return new JUnit38ClassRunner(arranged);
    }

    private static List<junit.framework.Test> leaves(Runner runner) throws Exception {
        Method getTest = JUnit38ClassRunner.class.getDeclaredMethod("getTest");
        getTest.setAccessible(true);
        List<junit.framework.Test> leaves = new ArrayList<>();
        addLeaves((junit.framework.Test) getTest.invoke(runner), leaves);
        return leaves;
    }

    private static void addLeaves(junit.framework.Test test, List<junit.framework.Test> leaves) {
        if (test instanceof TestSuite) {
            for (int i = 0; i < ((TestSuite) test).testCount(); i++) {
                addLeaves(((TestSuite) test).testAt(i), leaves);
            }
        } else {
            leaves.add(test);
        }
    }

    private static junit.framework.Test take(List<junit.framework.Test> from, String id) {
        for (int i = 0; i < from.size(); i++) {
            if (has(new JUnit38ClassRunner(from.get(i)).getDescription(), id)) {
                return from.remove(i);
            }
        }
        return null;
    }

    private static List<Part> oneByOne(Class<?> type, List<Slot> slots) {
        List<Part> parts = new ArrayList<>();
        for (Slot slot : slots) {
            Filter only = new Filter() {
                @Override
                public boolean shouldRun(Description description) {
                    return has(description, slot.test.id);
                }

                @Override
                public String describe() {
                    return slot.test.id;
                }
            };
            Runner runner = Request.aClass(type).filterWith(only).getRunner();
            parts.add(new Part(runner, Collections.singletonList(slot)));
        }
        return parts;
    }

    /** The parent runner that this one is, or contains; null if there is none. */
    private static ParentRunner<?> parentIn(Runner runner, int depth) {
        return parentIn(runner, depth, Collections.newSetFromMap(new IdentityHashMap<>()));
    }

    private static ParentRunner<?> parentIn(Object object, int depth, Set<Object> seen) {
        if (object instanceof ParentRunner) {
            return (ParentRunner<?>) object;
        }
        if (object == null || depth == 0 || !seen.add(object) || isOfLibrary(object)) {
            return null;
        }
        for (Class<?> at = object.getClass(); at != null; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                try {
                    if (!field.getType().isPrimitive()) {
                        field.setAccessible(true);
                        ParentRunner<?> inside = parentIn(field.get(object), depth - 1, seen);
                        if (inside != null) {
                            return inside;
                        }
                    }
                } catch (RuntimeException | IllegalAccessException closed) {
                    // A field that we may not read holds no runner that we could arrange.
                    continue;
                }
            }
        }
        return null;
    }

    private static boolean isOfLibrary(Object object) {
        return object instanceof Class || object.getClass().getName().startsWith("java.");
    }

    private static List<Object> children(ParentRunner<?> parent) throws Exception {
        Method method = ParentRunner.class.getDeclaredMethod("getFilteredChildren");
        method.setAccessible(true);
        return new ArrayList<>((java.util.Collection<?>) method.invoke(parent));
    }

    private static Method describing(ParentRunner<?> parent, Object child) throws Exception {
        for (Class<?> at = parent.getClass(); at != null; at = at.getSuperclass()) {
            for (Method method : at.getDeclaredMethods()) {
                if (method.getName().equals("describeChild") && !method.isBridge()
                        && method.getParameterTypes()[0].isInstance(child)) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        throw new NoSuchMethodException("describeChild");
    }

    /** Sets the field, under the names it has had since JUnit 4.5. */
    private static void setChildren(ParentRunner<?> parent, List<Object> children)
            throws Exception {
        Field field;
        try {
            field = ParentRunner.class.getDeclaredField("filteredChildren");
        } catch (NoSuchFieldException old) {
            field = ParentRunner.class.getDeclaredField("fFilteredChildren");
        }
        field.setAccessible(true);
        field.set(parent, children);
    }
}
