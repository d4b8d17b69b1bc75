package unflake.agent.jvm;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;

/**
 * How can we see what Java hides: which classes there are, and what its own objects hold?
 *
 * <p>Asking for a class by name would load it, reading its fields would initialise it, and either
 * would change what is watched. Java knows the answers, but gives them only to its own code. Flags
 * that open it ({@code --add-opens}) open it to the tests, too, some of which fail because it is
 * closed; a {@code -javaagent} makes every start slower. So we take Java's own key to itself, only
 * in a run that is watched, with {@code sun.misc.Unsafe}, which is open to everybody up to Java 25.
 */
public final class JavaInternals {
    private final MethodHandles.Lookup key;
    private final MethodHandle findLoaded;
    private final MethodHandle isAsleep;
    private final Map<String, MethodHandle> getters = new HashMap<>();

    /** Throws if this Java does not allow it. */
    public JavaInternals() {
        try {
            key = key();
            findLoaded = key.findVirtual(ClassLoader.class, "findLoadedClass",
                    MethodType.methodType(Class.class, String.class));
            Object internal = internal();
            MethodType asks = MethodType.methodType(boolean.class, Class.class);
            isAsleep = key.findVirtual(internal.getClass(), "shouldBeInitialized", asks)
                    .bindTo(internal);
        } catch (Throwable closed) {
            throw new UnsupportedOperationException("this Java cannot be watched: " + closed);
        }
    }

    /** Java 8 has only the public one. */
    private Object internal() throws Throwable {
        Class<?> type;
        try {
            type = Class.forName("jdk.internal.misc.Unsafe");
        } catch (ClassNotFoundException old) {
            return unsafe();
        }
        return key.findStatic(type, "getUnsafe", MethodType.methodType(type)).invoke();
    }

    static Object unsafe() throws ReflectiveOperationException {
        Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return field.get(null);
    }

    private static MethodHandles.Lookup key() throws ReflectiveOperationException {
        Object unsafe = unsafe();
        Class<?> type = unsafe.getClass();
        Field key = MethodHandles.Lookup.class.getDeclaredField("IMPL_LOOKUP");
        Object base = type.getMethod("staticFieldBase", Field.class).invoke(unsafe, key);
        Object offset = type.getMethod("staticFieldOffset", Field.class).invoke(unsafe, key);
        return (MethodHandles.Lookup) type.getMethod("getObject", Object.class, long.class)
                .invoke(unsafe, base, offset);
    }

    /** The class with this name, if it is loaded and initialised. */
    public Class<?> awake(ClassLoader loader, String name) {
        try {
            Class<?> type = (Class<?>) findLoaded.invoke(loader, name);
            return type == null || (boolean) isAsleep.invoke(type) ? null : type;
        } catch (Throwable fault) {
            throw new IllegalStateException(fault);
        }
    }

    /**
     * The value of a field in one of Java's own classes; of a static one if {@code target} is null.
     */
    public Object field(Class<?> owner, String name, Object target) {
        try {
            String id = owner.getName() + "." + name;
            MethodHandle getter = getters.get(id);
            if (getter == null) {
                getter = key.unreflectGetter(owner.getDeclaredField(name));
                getters.put(id, getter);
            }
            return target == null ? getter.invoke() : getter.invoke(target);
        } catch (Throwable other) {
            throw new IllegalStateException(other);
        }
    }

    /** The value of a thread-local variable in this thread, in an array; empty if it has none. */
    public Object[] local(ThreadLocal<?> variable) {
        try {
            boolean isInherited = variable instanceof InheritableThreadLocal;
            String name = isInherited ? "inheritableThreadLocals" : "threadLocals";
            Object map = field(Thread.class, name, Thread.currentThread());
            if (map == null) {
                return new Object[0];
            }
            MethodHandle find = getters.get("getEntry");
            if (find == null) {
                Class<?> entry = Class.forName("java.lang.ThreadLocal$ThreadLocalMap$Entry");
                find = key.findVirtual(map.getClass(), "getEntry",
                        MethodType.methodType(entry, ThreadLocal.class));
                getters.put("getEntry", find);
            }
            Object entry = find.invoke(map, variable);
            return entry == null
                    ? new Object[0]
                    : new Object[] {field(entry.getClass(), "value", entry)};
        } catch (Throwable fault) {
            throw new IllegalStateException(fault);
        }
    }
}
