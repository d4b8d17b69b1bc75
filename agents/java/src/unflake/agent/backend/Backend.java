package unflake.agent.backend;

import java.util.List;
import unflake.agent.run.Reporter;
import unflake.agent.run.Slot;

/** A runner of tests, with an order of our choice. */
public interface Backend {
    /** The name of the one for JUnit 3 and 4; those for engines are called like their engine. */
    String JUNIT4 = "junit4";

    /** The tests of these classes, in the order in which the runner would run them. */
    void collect(List<Class<?>> classes, Collected found);

    /**
     * Makes these attempts in this order, all of them tests of this backend. Attempts that stand
     * next to each other and are of one class share one run of the class. False if the runner gave
     * up before the last of them.
     */
    boolean run(List<Slot> slots, Reporter reporter);

    /** Loads what every run needs, by running a test of ours. */
    void warmUp();
}
