package unflake.agent;

import java.util.Map;

/** Who looks at the state of the process between tests, if anybody is to. */
interface Watch {
    /** Whether something is to be put back before the first attempt at this position. */
    boolean isDue(int position);

    /** Puts it back; what came of it, as a message. */
    Map<String, Object> restore();

    /** Adds to the end of an attempt what it has changed. */
    void look(Map<String, Object> end);

    /** A run that nobody watches. */
    Watch NONE = new Watch() {
        @Override
        public boolean isDue(int position) {
            return false;
        }

        @Override
        public Map<String, Object> restore() {
            throw new IllegalStateException("nothing is due");
        }

        @Override
        public void look(Map<String, Object> end) {}
    };
}
