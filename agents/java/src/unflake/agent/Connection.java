package unflake.agent;

import java.io.EOFException;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.Map;

/**
 * How do frames reach the engine?
 *
 * <p>A frame is four bytes of length, big endian, then one JSON object with one key, the message's
 * name. The socket is a Unix socket, which Java speaks to from 16 on; its classes are looked up by
 * name, so that this one can be loaded by older ones and say so.
 *
 * <p>Java closes a channel whose writer is interrupted, and tests interrupt their thread and leave
 * it so. Frames are therefore written by a thread of their own, which no test knows; who has
 * something to say waits until it is out, because the test that comes next may end the process.
 */
final class Connection implements Voice {
    private static final int FRAME_BYTES_MAX = 256 << 20;

    private final SocketChannel channel;
    private final Object lock = new Object();
    private ByteBuffer next;
    private boolean isGone;

    private Connection(SocketChannel channel) {
        this.channel = channel;
        Thread writer = new Thread(this::write, "unflake-writer");
        writer.setDaemon(true);
        writer.start();
    }

    /** Connects; {@code UnsupportedOperationException} on a Java that cannot. */
    static Connection open(String path) throws IOException {
        SocketAddress address;
        ProtocolFamily family;
        try {
            family = StandardProtocolFamily.valueOf("UNIX");
            Class<?> type = Class.forName("java.net.UnixDomainSocketAddress");
            Method of = type.getMethod("of", Path.class);
            Path socket = FileSystems.getDefault().getPath(path);
            address = (SocketAddress) of.invoke(null, socket);
        } catch (ReflectiveOperationException | IllegalArgumentException absent) {
            throw new UnsupportedOperationException("Java 16 or newer is needed");
        }
        Method open;
        try {
            open = SocketChannel.class.getMethod("open", ProtocolFamily.class);
            SocketChannel channel = (SocketChannel) open.invoke(null, family);
            channel.connect(address);
            return new Connection(channel);
        } catch (ReflectiveOperationException fault) {
            throw new IOException(fault);
        }
    }

    @Override
    public void say(String name, Map<String, Object> body) {
        say(Json.write(Json.object(name, body)));
    }

    /** Says one message that is written already. */
    void say(String json) {
        byte[] bytes = json.getBytes(StandardCharsets.US_ASCII);
        ByteBuffer frame = ByteBuffer.allocate(4 + bytes.length);
        frame.putInt(bytes.length).put(bytes).flip();
        boolean wasInterrupted = false;
        synchronized (lock) {
            next = frame;
            lock.notifyAll();
            while (next != null && !isGone) {
                try {
                    lock.wait();
                } catch (InterruptedException interrupted) {
                    wasInterrupted = true;
                }
            }
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void write() {
        try {
            while (true) {
                ByteBuffer frame;
                synchronized (lock) {
                    while (next == null) {
                        lock.wait();
                    }
                    frame = next;
                }
                while (frame.hasRemaining()) {
                    channel.write(frame);
                }
                synchronized (lock) {
                    next = null;
                    lock.notifyAll();
                }
            }
        } catch (IOException | InterruptedException gone) {
            // The engine has given this run up; its end will be seen by who reads.
            synchronized (lock) {
                isGone = true;
                lock.notifyAll();
            }
        }
    }

    /** The next message; {@code EOFException} when the engine has hung up. */
    Object receive() throws IOException {
        int length = read(4).getInt();
        if (length < 0 || FRAME_BYTES_MAX < length) {
            throw new IOException("a frame of " + length + " bytes");
        }
        return Json.parse(new String(read(length).array(), StandardCharsets.UTF_8));
    }

    /** Who waits in {@link #receive} is told that nothing more will come. */
    void hush() throws IOException {
        channel.shutdownInput();
    }

    private ByteBuffer read(int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer) < 0) {
                throw new EOFException("the engine is gone");
            }
        }
        buffer.flip();
        return buffer;
    }
}
