package unflake.agent.platform;

import java.lang.reflect.Method;
import java.util.Collections;
import java.util.List;
import org.junit.platform.engine.EngineDiscoveryRequest;
import org.junit.platform.engine.ExecutionRequest;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestEngine;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import unflake.agent.backend.Backend;
import unflake.agent.backend.Collected;
import unflake.agent.run.Reporter;
import unflake.agent.run.Slot;
import unflake.agent.run.Test;
import unflake.agent.watch.Watch;
import unflake.agent.wire.Plan;
import unflake.agent.wire.Text;

/**
 * An engine of the JUnit Platform: Jupiter, or another one that builds a tree and walks it.
 *
 * <p>The platform's own ways cannot give every order: an orderer for methods is overruled by a
 * class that names one, and none of them can run a test twice. But an engine first builds its tree
 * of tests and then walks it as it is. So we give the launcher an engine of our own, which lets the
 * real one build the tree, arranges it ({@link OrderedTree}), and returns it to be walked.
 * Consecutive attempts of one engine run in one launcher request, so that what extensions keep for
 * the whole run lives as long as it does under Surefire.
 */
final class PlatformBackend implements Backend {
    private static final String JUPITER = "junit-jupiter";
    private static final String EMPTY = "unflake.agent.platform.EmptyJupiterTest";

    private final TestEngine engine;
    /** Null for a test of ours. */
    private final Plan plan;

    PlatformBackend(TestEngine engine, Plan plan) {
        this.engine = engine;
        this.plan = plan;
    }

    @Override
    public void collect(List<Class<?>> classes, Collected found) {
        try {
            TestDescriptor root = discover(classes, UniqueId.forEngine(engine.getId()));
            for (TestTree.Unit unit : new TestTree(root).units()) {
                if (isWanted(unit)) {
                    found.add(unit.id, unit.top, engine.getId());
                }
            }
        } catch (Throwable fault) {
            if (classes.size() == 1) {
                found.fault(classes.get(0).getName(), Text.trace(fault));
                return;
            }
            // One of them is broken; the others must not suffer for it.
            for (Class<?> type : classes) {
                collect(Collections.singletonList(type), found);
            }
        }
    }

    private boolean isWanted(TestTree.Unit unit) {
        TestDescriptor descriptor = unit.descriptors.get(0);
        return (plan.groups.isEmpty()
                        || TagFilter.includeTags(plan.groups).apply(descriptor).included())
                && (plan.excludedGroups.isEmpty()
                        || TagFilter.excludeTags(plan.excludedGroups).apply(descriptor).included());
    }

    @Override
    public boolean run(List<Slot> slots, Reporter reporter) {
        try {
            LauncherConfig.Builder config =
                    LauncherConfig.builder().enableTestEngineAutoRegistration(false);
            run(slots, reporter, config);
        } catch (Throwable fault) {
            reporter.failedAround(slots, fault);
        }
        return reporter.finish(slots);
    }

    private void run(List<Slot> slots, Reporter reporter, LauncherConfig.Builder config) {
        Ordered ordered = new Ordered(slots);
        Launcher launcher = LauncherFactory.create(config.addTestEngines(ordered).build());
        launcher.execute(
                request(Collections.emptyList()), new PlatformListener(ordered.tree, reporter));
    }

    @Override
    public void warmUp() {
        if (!engine.getId().equals(JUPITER)) {
            return;
        }
        Test empty = new Test(0, EMPTY + "#nothing", EMPTY, JUPITER);
        List<Slot> slots = Collections.singletonList(new Slot(empty, 0, 0));
        try {
            PlatformBackend alone = new PlatformBackend(engine, null);
            alone.run(slots, Reporter.mute(Watch.NONE), withoutServices());
        } catch (ReflectiveOperationException | IllegalStateException old) {
            // This version cannot be kept away from what the project has registered, so nothing is
            // preloaded.
            return;
        }
    }

    /** Excludes everything that the project has registered, as far as the version of JUnit can. */
    private static LauncherConfig.Builder withoutServices() throws ReflectiveOperationException {
        LauncherConfig.Builder config = LauncherConfig.builder();
        for (Method method : LauncherConfig.Builder.class.getMethods()) {
            if (method.getName().endsWith("AutoRegistration")) {
                method.invoke(config, false);
            }
        }
        return config;
    }

    private TestDescriptor discover(List<Class<?>> classes, UniqueId root) {
        return engine.discover(request(classes), root);
    }

    private LauncherDiscoveryRequest request(List<Class<?>> classes) {
        LauncherDiscoveryRequestBuilder builder = LauncherDiscoveryRequestBuilder.request();
        for (Class<?> type : classes) {
            builder.selectors(DiscoverySelectors.selectClass(type));
        }
        if (plan == null) {
            withoutSettings(builder);
        } else {
            plan.configuration.forEach(builder::configurationParameter);
        }
        // Tests that run in parallel have no order.
        builder.configurationParameter("junit.jupiter.execution.parallel.enabled", "false");
        return builder.build();
    }

    /** Ignores settings from properties and files of the project; possible since JUnit 5.7. */
    private static void withoutSettings(LauncherDiscoveryRequestBuilder builder) {
        try {
            builder.getClass()
                    .getMethod("enableImplicitConfigurationParameters", boolean.class)
                    .invoke(builder, false);
        } catch (ReflectiveOperationException old) {
            throw new IllegalStateException(old);
        }
    }

    /** The engine, with its tree in our order. */
    private final class Ordered implements TestEngine {
        private final List<Slot> slots;
        private final OrderedTree tree = new OrderedTree();

        Ordered(List<Slot> slots) {
            this.slots = slots;
        }

        @Override
        public String getId() {
            // The launcher reserves names like JUnit's for JUnit itself.
            return "unflake-" + engine.getId();
        }

        @Override
        public TestDescriptor discover(EngineDiscoveryRequest request, UniqueId id) {
            return tree.arrange(slots, this::copy);
        }

        private TestDescriptor copy(String top, int number) {
            String name = number == 0 ? engine.getId() : engine.getId() + "-" + number;
            try {
                ClassLoader loader = Thread.currentThread().getContextClassLoader();
                Class<?> type = Class.forName(top, false, loader);
                return PlatformBackend.this.discover(
                        Collections.singletonList(type), UniqueId.forEngine(name));
            } catch (ClassNotFoundException fault) {
                throw new IllegalStateException(fault);
            }
        }

        @Override
        public void execute(ExecutionRequest request) {
            engine.execute(request);
        }
    }
}
