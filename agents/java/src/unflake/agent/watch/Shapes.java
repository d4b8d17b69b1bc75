package unflake.agent.watch;

import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import unflake.agent.jvm.JavaInternals;

/** Which of Java's own values can be asked what they hold, without calling the program? */
final class Shapes {
    /** The deepest nesting of wrappers. */
    private static final int WRAPPERS_MAX = 10;

    /**
     * Collections that hold their elements themselves, and list them without comparing or hashing
     * them.
     */
    private static final Set<String> COLLECTIONS = names("java.util.",
            "ArrayList", "LinkedList", "Vector", "Stack", "ArrayDeque", "PriorityQueue",
            "HashSet", "LinkedHashSet", "TreeSet", "RegularEnumSet", "JumboEnumSet",
            "Arrays$ArrayList", "Collections$EmptyList", "Collections$EmptySet",
            "Collections$SingletonList", "Collections$SingletonSet",
            "ImmutableCollections$List12", "ImmutableCollections$ListN",
            "ImmutableCollections$Set12", "ImmutableCollections$SetN",
            "concurrent.CopyOnWriteArrayList", "concurrent.CopyOnWriteArraySet",
            "concurrent.ConcurrentLinkedQueue", "concurrent.ConcurrentLinkedDeque",
            "concurrent.LinkedBlockingQueue", "concurrent.LinkedBlockingDeque",
            "concurrent.ArrayBlockingQueue", "concurrent.ConcurrentSkipListSet",
            "concurrent.ConcurrentHashMap$KeySetView");
    private static final Set<String> MAPS = names("java.util.",
            "HashMap", "LinkedHashMap", "TreeMap", "Hashtable", "Properties", "IdentityHashMap",
            "EnumMap", "Collections$EmptyMap", "Collections$SingletonMap",
            "ImmutableCollections$Map1", "ImmutableCollections$MapN",
            "concurrent.ConcurrentHashMap", "concurrent.ConcurrentSkipListMap");
    /** Values that never change, and whose text distinguishes them. */
    private static final Set<String> PLAIN = names("java.",
            "lang.Boolean", "lang.Character", "lang.Byte", "lang.Short", "lang.Integer",
            "lang.Long", "lang.Float", "lang.Double", "math.BigInteger", "math.BigDecimal",
            "util.UUID", "util.Locale", "util.Currency", "util.regex.Pattern", "net.URI",
            "net.URL", "io.File", "time.Duration", "time.Instant", "time.LocalDate",
            "time.LocalTime", "time.LocalDateTime", "time.OffsetDateTime", "time.ZonedDateTime",
            "time.Period", "time.Year", "time.YearMonth", "time.ZoneOffset", "time.ZoneRegion");

    private final JavaInternals internals;

    Shapes(JavaInternals internals) {
        this.internals = internals;
    }

    static boolean isPlain(Object value) {
        return PLAIN.contains(value.getClass().getName());
    }

    static boolean isCollection(Object value) {
        return COLLECTIONS.contains(value.getClass().getName());
    }

    static boolean isMap(Object value) {
        return MAPS.contains(value.getClass().getName());
    }

    /** Whether it changes by itself, and does not consist of what it holds. */
    static boolean isAlive(Object value) {
        return value instanceof Thread
                || value instanceof ClassLoader
                || value instanceof Throwable;
    }

    /** The value inside {@code Collections.unmodifiableList(...)} and the like. */
    Object unwrap(Object value) {
        Object inside = value;
        for (int n = 0; n < WRAPPERS_MAX; n++) {
            String type = inside.getClass().getName();
            if (!type.startsWith("java.util.Collections$")) {
                return inside;
            }
            String name = type.substring("java.util.Collections$".length());
            boolean isWrapper = name.startsWith("Synchronized")
                    || name.startsWith("Unmodifiable")
                    || name.startsWith("Checked")
                    || name.equals("SetFromMap");
            if (!isWrapper || !(inside instanceof Collection || inside instanceof Map)) {
                return inside;
            }
            inside = inside(inside);
        }
        return inside;
    }

    private Object inside(Object wrapper) {
        boolean isOverMap = wrapper instanceof Map
                || wrapper.getClass().getName().endsWith("$SetFromMap");
        String field = isOverMap ? "m" : "c";
        for (Class<?> at = wrapper.getClass(); at != Object.class; at = at.getSuperclass()) {
            try {
                at.getDeclaredField(field);
            } catch (NoSuchFieldException above) {
                continue;
            }
            return internals.field(at, field, wrapper);
        }
        throw new IllegalStateException(wrapper.getClass().getName());
    }

    private static Set<String> names(String start, String... names) {
        Set<String> all = new HashSet<>();
        Arrays.asList(names).forEach(name -> all.add(start + name));
        return all;
    }
}
