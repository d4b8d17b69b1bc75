package unflake.agent.run;

import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import unflake.agent.trace.Tracer;
import unflake.agent.watch.Watch;
import unflake.agent.wire.Json;
import unflake.agent.wire.Messenger;
import unflake.agent.wire.Text;

/**
 * When does an attempt begin, and when is it over?
 *
 * <p>What a class sets up before its first test belongs to that test, and what it tears down after
 * its last test to that one. So an attempt begins when its class does, and its end is held back
 * until the next one begins or the class is over. So whatever hangs or dies in between, there is a
 * test to blame.
 */
public final class Reporter {
    private final Messenger messenger;
    private final Capture capture;
    private final Set<Integer> brief;
    private final Watch watch;
    /** Null in a run that is not traced. */
    private final Tracer tracer;
    private Slot current;
    private long begunAt;

    public Reporter(Messenger messenger, Capture capture, Set<Integer> brief, Watch watch,
            Tracer tracer) {
        this.messenger = messenger;
        this.capture = capture;
        this.brief = brief;
        this.watch = watch;
        this.tracer = tracer;
    }

    /** A reporter that sends nothing. */
    public static Reporter mute(Watch watch) {
        return new Reporter((name, body) -> {}, new Capture(), new HashSet<>(), watch, null);
    }

    /** The attempt begins, unless it is under way already; the previous one is over. */
    public void begin(Slot slot) {
        if (slot == current || slot.isOver()) {
            return;
        }
        flush();
        if (slot.attempt == 0 && watch.isDue(slot.position)) {
            messenger.say("restored", watch.restore());
        }
        current = slot;
        capture.clear();
        messenger.say("start", Json.object("position", slot.position, "attempt", slot.attempt));
        begunAt = System.nanoTime();
    }

    /** The runner has reached the test itself. */
    public void run(Slot slot) {
        begin(slot);
        slot.run();
        if (tracer != null) {
            tracer.open();
        }
    }

    /** The runner has finished the test itself, or part of it. */
    public void ran() {
        if (tracer != null) {
            tracer.close();
        }
    }

    /** The attempt under way, if there is one, is over. */
    void flush() {
        if (current == null) {
            return;
        }
        double seconds = (System.nanoTime() - begunAt) / 1e9;
        Slot slot = current;
        current = null;
        slot.close();
        Map<String, Object> body = Json.object(
                "position", slot.position,
                "attempt", slot.attempt,
                "outcome", slot.outcome(),
                "phase", slot.phase(),
                "seconds", seconds);
        describe(slot, body);
        watch.look(body);
        if (tracer != null) {
            messenger.say("traced", tracer.take(slot.position, slot.attempt));
        }
        messenger.say("end", body);
    }

    /** A class failed as a whole: before its tests, or after the last of them. */
    public void failedAround(Collection<Slot> slots, Throwable why) {
        Slot last = null;
        for (Slot slot : slots) {
            last = slot.wasRun() ? slot : last;
        }
        if (last != null) {
            // A runner that gives up in the middle of a test leaves it open.
            last.failed(last.isSettled() ? "teardown" : "call", why);
            return;
        }
        for (Slot slot : slots) {
            begin(slot);
            slot.failed("setup", why);
        }
    }

    /** A class was skipped as a whole. */
    public void skippedAround(Collection<Slot> slots, String why) {
        for (Slot slot : slots) {
            begin(slot);
            slot.skipped(why);
        }
    }

    /** Whether the runner reached all of them; if it stopped early, it has no more to say. */
    public boolean finish(Collection<Slot> slots) {
        flush();
        for (Slot slot : slots) {
            if (!slot.isOver()) {
                return false;
            }
        }
        return true;
    }

    private void describe(Slot slot, Map<String, Object> body) {
        Throwable failure = slot.failure();
        if (failure == null) {
            if (slot.reason() != null && !slot.outcome().equals("passed")) {
                body.put("message", Text.bounded(Text.line(slot.reason())));
            }
            return;
        }
        body.put("message", Text.bounded(Text.line(Text.of(failure))));
        if (brief.contains(slot.test.index)) {
            return;
        }
        body.put("text", Text.bounded(Text.trace(failure)));
        body.put("stdout", Text.bounded(capture.out()));
        body.put("stderr", Text.bounded(capture.err()));
    }
}
