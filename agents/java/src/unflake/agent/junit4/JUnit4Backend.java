package unflake.agent.junit4;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.runner.Description;
import org.junit.runner.Request;
import org.junit.runner.RunWith;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;
import org.junit.runner.notification.RunNotifier;
import unflake.agent.backend.Backend;
import unflake.agent.backend.Collected;
import unflake.agent.run.Reporter;
import unflake.agent.run.Slot;
import unflake.agent.watch.Watch;
import unflake.agent.wire.Text;

/**
 * JUnit 4 and JUnit 3, by their own runners.
 *
 * <p>However the tests are started in a user's build (by JUnit 4 itself, or by the Vintage engine),
 * the runner of the class decides on their order, and neither can tell it an exact order. So we ask
 * JUnit for the runner as both do, put its children into the wanted order ({@link OrderedRunners}),
 * and let it run.
 */
public final class JUnit4Backend implements Backend {
    @Override
    public void collect(List<Class<?>> classes, Collected found) {
        for (Class<?> type : classes) {
            try {
                if (isTest(type)) {
                    for (String id : ids(Request.aClass(type).getRunner().getDescription())) {
                        found.add(id, type.getName(), JUNIT4);
                    }
                }
            } catch (Throwable fault) {
                found.fault(type.getName(), Text.trace(fault));
            }
        }
    }

    @Override
    public boolean run(List<Slot> slots, Reporter reporter) {
        int from = 0;
        boolean goesOn = true;
        while (goesOn && from < slots.size()) {
            int to = from;
            String top = slots.get(from).test.top;
            while (to < slots.size() && slots.get(to).test.top.equals(top)) {
                to++;
            }
            goesOn = runClass(slots.subList(from, to), reporter);
            from = to;
        }
        return goesOn;
    }

    @Override
    public void warmUp() {
        List<Slot> slots = Collections.singletonList(new Slot(EmptyJUnit4Test.TEST, 0, 0));
        runClass(slots, Reporter.mute(Watch.NONE));
    }

    private static boolean runClass(List<Slot> slots, Reporter reporter) {
        reporter.begin(slots.get(0));
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            Class<?> type = Class.forName(slots.get(0).test.top, false, loader);
            for (OrderedRunners.Part part : OrderedRunners.of(type, slots)) {
                RunNotifier notifier = new RunNotifier();
                notifier.addListener(new Listener(part.slots, reporter));
                part.runner.run(notifier);
            }
        } catch (Throwable fault) {
            reporter.failedAround(slots, fault);
        }
        return reporter.finish(slots);
    }

    /** The names of all tests below, in order. */
    static List<String> ids(Description description) {
        List<String> ids = new ArrayList<>();
        if (description.isTest()) {
            ids.add(id(description));
        }
        for (Description child : description.getChildren()) {
            ids.addAll(ids(child));
        }
        return ids;
    }

    static String id(Description description) {
        String method = description.getMethodName();
        String name = method == null ? description.getDisplayName() : method;
        return description.getClassName() + "#" + name;
    }

    /** Whether Surefire would give this class to JUnit 4. */
    private static boolean isTest(Class<?> type) {
        if (type.isInterface() || Modifier.isAbstract(type.getModifiers())) {
            return false;
        }
        if (junit.framework.Test.class.isAssignableFrom(type)
                || type.isAnnotationPresent(RunWith.class)) {
            return true;
        }
        try {
            type.getMethod("suite");
            return true;
        } catch (NoSuchMethodException usual) {
            return hasTestMethod(type);
        }
    }

    private static boolean hasTestMethod(Class<?> type) {
        for (Class<?> at = type; at != null && at != Object.class; at = at.getSuperclass()) {
            for (Method method : at.getDeclaredMethods()) {
                if (method.isAnnotationPresent(org.junit.Test.class)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Translates JUnit's events to attempts. */
    private static final class Listener extends RunListener {
        private final List<Slot> slots;
        private final Reporter reporter;
        private int next;
        /**
         * JUnit's description of the attempt under way; its name is built each time it is asked
         * for.
         */
        private Description begun;

        Listener(List<Slot> slots, Reporter reporter) {
            this.slots = slots;
            this.reporter = reporter;
        }

        @Override
        public void testStarted(Description description) {
            Slot slot = come(description);
            if (slot != null) {
                reporter.run(slot);
            }
        }

        @Override
        public void testIgnored(Description description) {
            if (!description.isTest()) {
                reporter.skippedAround(slots, "the class is ignored");
                return;
            }
            Slot slot = come(description);
            if (slot != null) {
                reporter.run(slot);
                slot.skipped("ignored");
            }
        }

        @Override
        public void testFinished(Description description) {
            reporter.ran();
            Slot slot = under(description);
            if (slot != null && !slot.isSettled()) {
                slot.passed();
            }
        }

        @Override
        public void testFailure(Failure failure) {
            Slot slot = under(failure.getDescription());
            if (slot != null) {
                slot.failed("call", failure.getException());
            } else {
                reporter.failedAround(slots, failure.getException());
            }
        }

        @Override
        public void testAssumptionFailure(Failure failure) {
            Slot slot = under(failure.getDescription());
            if (slot != null) {
                slot.skipped(Text.of(failure.getException()));
            } else {
                reporter.skippedAround(slots, Text.of(failure.getException()));
            }
        }

        /** The next attempt with this description, which begins. */
        private Slot come(Description description) {
            String id = id(description);
            for (int i = next; i < slots.size(); i++) {
                if (slots.get(i).test.id.equals(id)) {
                    next = i + 1;
                    begun = description;
                    return slots.get(i);
                }
            }
            return null;
        }

        /** The attempt under way, if this is its description. */
        private Slot under(Description description) {
            if (next == 0) {
                return null;
            }
            Slot slot = slots.get(next - 1);
            boolean isIt = description == begun
                    || description.isTest() && slot.test.id.equals(id(description));
            return isIt ? slot : null;
        }
    }
}
