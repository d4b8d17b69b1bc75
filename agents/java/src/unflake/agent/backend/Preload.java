package unflake.agent.backend;

import unflake.agent.wire.Plan;

/**
 * What can be done before it is known which tests to run?
 *
 * <p>An agent that waits lets JUnit run an empty test of ours, so that the cost of the first test
 * (loading and linking several hundred classes) is already paid. No class, no service and no
 * setting of the project takes part in it, and JUnit is ready before the first test class is looked
 * at in any run, so no test can notice. An agent that does not have to wait does not do it either.
 */
public final class Preload implements Runnable {
    /** An agent with an immediate request receives it within this time. */
    private static final long PATIENCE_MS = 20;

    private final Plan plan;
    private final Thread thread = new Thread(this, "unflake-preload");
    private boolean isOver;
    private Backends backends;

    private Preload(Plan plan) {
        this.plan = plan;
    }

    public static Preload begin(Plan plan) {
        Preload preload = new Preload(plan);
        preload.thread.setDaemon(true);
        preload.thread.start();
        return preload;
    }

    @Override
    public void run() {
        try {
            synchronized (this) {
                if (!isOver) {
                    wait(PATIENCE_MS);
                }
                if (isOver) {
                    return;
                }
            }
            backends = Backends.of(plan);
            backends.warmUp();
        } catch (Throwable fault) {
            // The failure will recur where it can be reported.
            backends = null;
        }
    }

    /**
     * Waits for what was begun: aborting it would mean doing it twice. If it was not begun, does it
     * now if every process must do the same.
     */
    public Backends finish(boolean isAlways) {
        synchronized (this) {
            isOver = true;
            notifyAll();
        }
        try {
            thread.join();
        } catch (InterruptedException nobody) {
            throw new IllegalStateException(nobody);
        }
        if (backends == null) {
            backends = Backends.of(plan);
            if (isAlways) {
                backends.warmUp();
            }
        }
        return backends;
    }
}
