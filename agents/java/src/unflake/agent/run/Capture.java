package unflake.agent.run;

import java.io.OutputStream;
import java.io.PrintStream;

/**
 * What does a test write to the standard streams?
 *
 * <p>The streams are replaced once, before the first test, as Surefire does. A test that replaces
 * them itself, and leaves it at that, has polluted the tests after it; it is not up to us to undo
 * that.
 */
public final class Capture {
    /** How much of each stream is kept: its beginning and its end. */
    private static final int KEPT_BYTES_MAX = 256 * 1024;

    private final Kept out = new Kept();
    private final Kept err = new Kept();

    public static Capture install() {
        Capture capture = new Capture();
        System.setOut(new PrintStream(capture.out, true));
        System.setErr(new PrintStream(capture.err, true));
        return capture;
    }

    void clear() {
        out.clear();
        err.clear();
    }

    String out() {
        return out.text();
    }

    String err() {
        return err.text();
    }

    private static final class Kept extends OutputStream {
        private final byte[] bytes = new byte[KEPT_BYTES_MAX];
        private long length;

        @Override
        public synchronized void write(int b) {
            // When it is full, the second half is used as a ring.
            int half = KEPT_BYTES_MAX / 2;
            int at = length < half ? (int) length : half + (int) ((length - half) % half);
            bytes[at] = (byte) b;
            length++;
        }

        @Override
        public synchronized void write(byte[] from, int offset, int count) {
            if (length + count <= KEPT_BYTES_MAX / 2) {
                System.arraycopy(from, offset, bytes, (int) length, count);
                length += count;
                return;
            }
            for (int i = 0; i < count; i++) {
                write(from[offset + i]);
            }
        }

        synchronized void clear() {
            length = 0;
        }

        synchronized String text() {
            if (length <= KEPT_BYTES_MAX) {
                return new String(bytes, 0, (int) length);
            }
            int half = KEPT_BYTES_MAX / 2;
            int turn = half + (int) ((length - half) % half);
            return new String(bytes, 0, half)
                    + "\n[... " + (length - KEPT_BYTES_MAX) + " bytes cut out ...]\n"
                    + new String(bytes, turn, KEPT_BYTES_MAX - turn)
                    + new String(bytes, half, turn - half);
        }
    }
}
