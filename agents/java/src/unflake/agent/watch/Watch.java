package unflake.agent.watch;

import java.util.Map;
import unflake.agent.wire.Json;

/** Looks at the state of the process between tests, if that is wanted. */
public interface Watch {
    /** Whether something must be put back before the first attempt at this position. */
    default boolean isDue(int position) {
        return false;
    }

    /** Puts it back; returns the message about it. */
    default Map<String, Object> restore() {
        throw new IllegalStateException("nothing is due");
    }

    /** Adds the changes of an attempt to the message about its end. */
    void look(Map<String, Object> end);

    /** What the end of the run reports: whether something was not watched. */
    Map<String, Object> lastWords();

    /** A run that is not watched. */
    Watch NONE = new Unwatched(false);

    /** A run that should be watched but cannot be. */
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
