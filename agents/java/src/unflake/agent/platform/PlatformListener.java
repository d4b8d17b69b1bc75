package unflake.agent.platform;

import java.util.Set;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import unflake.agent.run.Reporter;
import unflake.agent.run.Slot;
import unflake.agent.wire.Text;

/** Which attempt is an event of the JUnit Platform about, and what does it say? */
final class PlatformListener implements TestExecutionListener {
    private final OrderedTree tree;
    private final Reporter reporter;

    PlatformListener(OrderedTree tree, Reporter reporter) {
        this.tree = tree;
        this.reporter = reporter;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        Slot slot = slot(test);
        if (slot != null) {
            reporter.run(slot);
            return;
        }
        for (Slot first : tree.below(test.getUniqueId())) {
            // What a class sets up belongs to its first test.
            reporter.begin(first);
            break;
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        Slot slot = slot(test);
        if (slot == null) {
            reporter.skippedAround(tree.below(test.getUniqueId()), reason);
        } else {
            reporter.run(slot);
            slot.skipped(reason);
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        Slot slot = slot(test);
        if (slot != null) {
            reporter.ran();
        }
        Set<Slot> below = tree.below(test.getUniqueId());
        Throwable why = result.getThrowable().orElse(null);
        switch (result.getStatus()) {
            case SUCCESSFUL:
                // A method has not passed if all its invocations were skipped; but it has if it has
                // none.
                if (slot != null && (test.isTest() || !slot.isSettled())) {
                    slot.passed();
                }
                break;
            case ABORTED:
                if (slot != null) {
                    slot.skipped(why == null ? null : Text.of(why));
                } else {
                    reporter.skippedAround(below, why == null ? null : Text.of(why));
                }
                break;
            default:
                if (slot != null) {
                    slot.failed("call", why);
                } else {
                    reporter.failedAround(below, why);
                }
        }
    }

    /** The attempt that an event is about; an invocation belongs to that of its method. */
    private Slot slot(TestIdentifier test) {
        Slot slot = tree.slot(test.getUniqueId());
        if (slot == null && test.getParentId().isPresent()) {
            slot = tree.slot(test.getParentId().get());
            if (slot != null) {
                tree.adopt(test.getUniqueId(), slot);
            }
        }
        return slot;
    }
}
