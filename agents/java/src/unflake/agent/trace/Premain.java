package unflake.agent.trace;

import java.io.File;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Begins a process that is to be traced, before anything of the tests is loaded.
 *
 * <p>What changes classes has a class loader of its own: the project may have another version of
 * the library that it uses, or tests that count what is loaded.
 */
public final class Premain {
    private static final String INSTRUMENTER = "unflake.agent.trace.Instrumenter";

    private Premain() {}

    /** {@code arguments} are the folders and jars of what changes classes. */
    public static void premain(String arguments, Instrumentation instrumentation)
            throws Exception {
        String[] files = arguments.split(File.pathSeparator);
        URL[] urls = new URL[files.length];
        for (int i = 0; i < files.length; i++) {
            urls[i] = new File(files[i]).toURI().toURL();
        }
        Object instrumenter = new URLClassLoader(urls, null)
                .loadClass(INSTRUMENTER)
                .getDeclaredConstructor()
                .newInstance();
        instrumentation.addTransformer((ClassFileTransformer) instrumenter);
    }
}
