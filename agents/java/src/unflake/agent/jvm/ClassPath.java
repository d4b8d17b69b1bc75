package unflake.agent.jvm;

import java.io.File;
import java.lang.reflect.Field;
import java.net.URL;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * In which order is the class path searched?
 *
 * <p>Java keeps classes ready in an archive if they are in jars with no folder before them. Build
 * tools put the project's folders first. So a process with an archive is started with the jars in
 * front, and before anything is looked up, the order of the build tool is restored: everything that
 * is not in the archive, including all resources, is then found as without one. What the archive
 * has is only in jars ({@link JarsFirst}).
 *
 * <p>Java has no way to do this; we change the lists of its class loader.
 */
public final class ClassPath {
    private final Object unsafe;

    private ClassPath() throws ReflectiveOperationException {
        unsafe = JavaInternals.unsafe();
    }

    /**
     * Makes it be searched in this order from now on. Throws if the internals of this Java differ.
     */
    public static void arrange(String wanted) {
        try {
            new ClassPath().put(wanted.split(File.pathSeparator));
            System.setProperty("java.class.path", wanted);
        } catch (ReflectiveOperationException | RuntimeException other) {
            throw new UnsupportedOperationException("the class path is not as expected: " + other);
        }
    }

    private void put(String[] wanted) throws ReflectiveOperationException {
        String[] given = System.getProperty("java.class.path").split(File.pathSeparator);
        Class<?> loader = Class.forName("jdk.internal.loader.BuiltinClassLoader");
        Object path = get(loader, "ucp", ClassLoader.getSystemClassLoader());
        @SuppressWarnings("unchecked")
        List<URL> all = (List<URL>) get(path.getClass(), "path", path);
        @SuppressWarnings("unchecked")
        Collection<URL> unopened = (Collection<URL>) get(path.getClass(), "unopenedUrls", path);
        Collection<?> opened = (Collection<?>) get(path.getClass(), "loaders", path);
        Map<?, ?> openedByName = (Map<?, ?>) get(path.getClass(), "lmap", path);
        List<URL> ordered = new ArrayList<>();
        for (String entry : wanted) {
            ordered.add(all.get(Arrays.asList(given).indexOf(entry)));
        }
        if (given.length != wanted.length || all.size() < given.length) {
            throw new IllegalStateException(all.size() + " instead of " + wanted.length);
        }
        // The jar that a traced process starts with.
        ordered.addAll(all.subList(given.length, all.size()));
        all.clear();
        all.addAll(ordered);
        opened.clear();
        openedByName.clear();
        unopened.clear();
        unopened.addAll(ordered);
    }

    private Object get(Class<?> owner, String name, Object target)
            throws ReflectiveOperationException {
        Class<?> type = unsafe.getClass();
        Field field = owner.getDeclaredField(name);
        Object offset = type.getMethod("objectFieldOffset", Field.class).invoke(unsafe, field);
        return type.getMethod("getObject", Object.class, long.class)
                .invoke(unsafe, target, offset);
    }
}
