package unflake.agent.backend;

import java.util.List;
import unflake.agent.run.Reporter;
import unflake.agent.run.Slot;

/** A runner of tests that takes our order. */
public interface Backend {
    /** The name of the one for JUnit 3 and 4; the others are named after their engine. */
    String JUNIT4 = "junit4";

    /** Collects the tests of these classes, in the order in which the runner would run them. */
    void collect(List<Class<?>> classes, Collected found);

    /**
     * Makes these attempts in this order, all of them tests of this backend. Attempts that stand
     * next to each other and are of one class share one run of the class. False if the runner gave
     * up before the last of them.
     */
    boolean run(List<Slot> slots, Reporter reporter);

    /** Loads what every run needs, by running an empty test of ours. */
    void warmUp();
}
