package unflake.agent.trace;

import java.io.File;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Prepares a process that will be traced, before anything of the tests is loaded.
 *
 * <p>The code that changes classes has its own class loader: the project may have another version
 * of the library it uses, or tests that count what is loaded.
 */
public final class Premain {
    private static final String INSTRUMENTER = "unflake.agent.trace.Instrumenter";

    private Premain() {}

    /** {@code arguments} are the folders and jars of the code that changes classes. */
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
