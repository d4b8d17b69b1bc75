package unflake.agent.run;

import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import unflake.agent.wire.Messenger;

/** Prints for a person how the tests end. */
public final class ResultPrinter implements Messenger {
    private final List<Slot> slots;
    private final PrintStream out;
    private boolean hasFailures;

    public ResultPrinter(List<Slot> slots, PrintStream out) {
        this.slots = slots;
        this.out = out;
    }

    public boolean hasFailures() {
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
