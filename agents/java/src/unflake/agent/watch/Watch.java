package unflake.agent.watch;

import java.util.Map;
import unflake.agent.wire.Json;

/** Who looks at the state of the process between tests, if anybody is to. */
public interface Watch {
    /** Whether something is to be put back before the first attempt at this position. */
    default boolean isDue(int position) {
        return false;
    }

    /** Puts it back; what came of it, as a message. */
    default Map<String, Object> restore() {
        throw new IllegalStateException("nothing is due");
    }

    /** Adds to the end of an attempt what it has changed. */
    void look(Map<String, Object> end);

    /** What the end of the run tells: whether something was not watched. */
    Map<String, Object> lastWords();

    /** A run that nobody watches. */
    Watch NONE = new Unwatched(false);

    /** A run that nobody can watch, though somebody asked for it. */
    Watch BLIND = new Unwatched(true);

    /** Sees nothing. */
    final class Unwatched implements Watch {
        private final boolean isMissed;

        private Unwatched(boolean isMissed) {
            this.isMissed = isMissed;
        }

        @Override
        public void look(Map<String, Object> end) {}

        @Override
        public Map<String, Object> lastWords() {
            return isMissed ? Json.object("in_part", true) : Json.object();
        }
    }
}
