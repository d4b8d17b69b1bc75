package unflake.agent.wire;

import java.util.Map;

/** Passes on what happens in a run: to the engine, or to a person. */
public interface Messenger {
    void say(String name, Map<String, Object> body);
}
