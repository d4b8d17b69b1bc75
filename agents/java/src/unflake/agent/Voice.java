package unflake.agent;

import java.util.Map;

/** Who hears what happens in a run: the engine, or a person. */
interface Voice {
    void say(String name, Map<String, Object> body);
}
