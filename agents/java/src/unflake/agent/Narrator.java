package unflake.agent;

import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/** Tells a person how the tests end. */
final class Narrator implements Voice {
    private final List<Slot> slots;
    private final PrintStream out;
    private boolean hasFailures;

    Narrator(List<Slot> slots, PrintStream out) {
        this.slots = slots;
        this.out = out;
    }

    boolean hasFailures() {
        return hasFailures;
    }

    @Override
    public void say(String name, Map<String, Object> body) {
        if (!name.equals("end")) {
            return;
        }
        String outcome = (String) body.get("outcome");
        out.println(outcome + "  " + slots.get((Integer) body.get("position")).test.id);
        if (outcome.equals("failed") || outcome.equals("error")) {
            hasFailures = true;
            out.println(body.get("text"));
        }
        out.flush();
    }
}
