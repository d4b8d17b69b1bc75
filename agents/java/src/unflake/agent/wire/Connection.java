package unflake.agent.wire;

import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * How do frames reach the engine?
 *
 * <p>A frame is four bytes of length, big endian, then one JSON object with one key, the message's
 * name. Frames go through pipes that this process has inherited: every Java can open them as files,
 * while only Java 16 and newer can connect to the engine's socket. And they are not closed when a
 * test interrupts the thread that writes, as a channel would be.
 */
public final class Connection implements Messenger {
    private static final int FRAME_BYTES_MAX = 256 << 20;
    private static final String OPEN_FILES = "/proc/self/fd/";

    private final DataInputStream in;
    private final OutputStream out;
    private boolean isGone;

    private Connection(InputStream in, OutputStream out) {
        this.in = in == null ? null : new DataInputStream(in);
        this.out = out;
    }

    /** The pipes of this process, by their numbers. */
    public static final class Address {
        private static final String START = "fd:";

        private final String toServer;
        private final String fromServer;
        private final String fromRun;

        public Address(String text) throws IOException {
            String[] numbers = text.startsWith(START) ? text.substring(START.length()).split(",")
                    : new String[0];
            if (numbers.length != 3) {
                throw new IOException("`" + text + "` does not name three pipes");
            }
            toServer = OPEN_FILES + numbers[0];
            fromServer = OPEN_FILES + numbers[1];
            fromRun = OPEN_FILES + numbers[2];
        }

        public Connection server() throws IOException {
            return new Connection(new FileInputStream(toServer), new FileOutputStream(fromServer));
        }

        /** The connection of a run, on which the engine never sends anything. */
        public Connection run() throws IOException {
            return new Connection(null, new FileOutputStream(fromRun));
        }

        /** Sends a message to ourselves, for the thread that waits for the engine's next one. */
        public void hush() throws IOException {
            try (OutputStream self = new FileOutputStream(toServer)) {
                self.write(frame("{\"stop\": {}}"));
            }
        }
    }

    @Override
    public void say(String name, Map<String, Object> body) {
        say(Json.write(Json.object(name, body)));
    }

    /** Sends a message that is already written; it is out when this returns. */
    public synchronized void say(String json) {
        if (isGone) {
            return;
        }
        try {
            out.write(frame(json));
        } catch (IOException gone) {
            // The engine has given this run up; the reading thread will notice its end.
            isGone = true;
        }
    }

    private static byte[] frame(String json) {
        byte[] bytes = json.getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocate(4 + bytes.length).putInt(bytes.length).put(bytes).array();
    }

    /** The next message; {@code EOFException} when the engine has hung up. */
    public Object receive() throws IOException {
        int length = in.readInt();
        if (length < 0 || FRAME_BYTES_MAX < length) {
            throw new IOException("a frame of " + length + " bytes");
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        return Json.parse(new String(bytes, StandardCharsets.UTF_8));
    }
}
