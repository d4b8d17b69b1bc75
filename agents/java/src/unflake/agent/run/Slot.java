package unflake.agent.run;

/** One attempt of a run: its test, its position in the order, and what is known about it. */
public final class Slot {
    public final Test test;
    final int position;
    final int attempt;

    private boolean isOver;
    private boolean wasRun;
    private boolean hasPassed;
    private boolean hasFailed;
    private String phase = "call";
    private String reason;
    private Throwable failure;

    public Slot(Test test, int position, int attempt) {
        this.test = test;
        this.position = position;
        this.attempt = attempt;
    }

    boolean isOver() {
        return isOver;
    }

    /** Whether the runner reached it. */
    boolean wasRun() {
        return wasRun;
    }

    void run() {
        wasRun = true;
    }

    void close() {
        isOver = true;
    }

    /** Whether it has a result. */
    public boolean isSettled() {
        return hasPassed || hasFailed || reason != null;
    }

    /** Part of it has passed, which is enough unless another part fails. */
    public void passed() {
        hasPassed = true;
    }

    /** The first failure is the one that is reported; a single one makes the test fail. */
    public void failed(String where, Throwable why) {
        if (!hasFailed) {
            hasFailed = true;
            phase = where;
            failure = why == null ? new AssertionError("failed without a reason") : why;
        }
    }

    public void skipped(String why) {
        if (reason == null) {
            reason = why == null ? "" : why;
        }
    }

    /** The outcome in the words of the protocol. */
    String outcome() {
        if (hasFailed) {
            return phase.equals("call") ? "failed" : "error";
        }
        if (hasPassed) {
            return "passed";
        }
        return reason == null ? "error" : "skipped";
    }

    String phase() {
        return outcome().equals("error") && !hasFailed ? "setup" : phase;
    }

    Throwable failure() {
        return failure;
    }

    String reason() {
        if (reason == null && !hasPassed && !hasFailed) {
            return "the runner did not come to it";
        }
        return reason;
    }
}
