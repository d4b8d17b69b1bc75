package unflake.agent.platform;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;

/**
 * Which tests are in a tree that an engine has built?
 *
 * <p>A <em>unit</em> is what we can run and report: a method of a class, with all its invocations,
 * and with all methods of the same name, because {@code -Dtest=} cannot distinguish them.
 * Everything above units is a container: classes, and whatever an engine puts around them.
 */
final class TestTree {
    /** Classes whose tests are created for each set of arguments, while they run. */
    private static final String TEMPLATE = "class-template";

    private final Map<String, Unit> units = new LinkedHashMap<>();
    /** The containers, by their paths below the root, which all copies of a tree share. */
    final Map<String, TestDescriptor> containers = new LinkedHashMap<>();

    /** What we treat as one test. */
    static final class Unit {
        final String id;
        /** The outermost class. */
        final String top;
        /** The containers around it, from the outside, as paths. */
        final List<String> around;
        final List<TestDescriptor> descriptors = new ArrayList<>();

        Unit(String id, String top, List<String> around) {
            this.id = id;
            this.top = top;
            this.around = around;
        }
    }

    TestTree(TestDescriptor root) {
        for (TestDescriptor child : root.getChildren()) {
            walk(child, null, null, new ArrayList<>());
        }
    }

    List<Unit> units() {
        return new ArrayList<>(units.values());
    }

    Unit unit(String id) {
        return units.get(id);
    }

    private void walk(TestDescriptor at, String top, String type, List<String> around) {
        String here = className(at);
        String outermost = top == null ? here : top;
        if (isTemplate(at) && here != null) {
            add(here, outermost, around, at);
        } else if (here != null || type == null && !at.getChildren().isEmpty()) {
            containers.put(path(at), at);
            List<String> inside = new ArrayList<>(around);
            inside.add(path(at));
            for (TestDescriptor child : at.getChildren()) {
                walk(child, outermost, here == null ? type : here, inside);
            }
        } else {
            String owner = type == null ? at.getUniqueId().toString() : type;
            add(owner + "#" + name(at), outermost == null ? owner : outermost, around, at);
        }
    }

    private void add(String id, String top, List<String> around, TestDescriptor descriptor) {
        units.computeIfAbsent(id, key -> new Unit(id, top, around)).descriptors.add(descriptor);
    }

    private static boolean isTemplate(TestDescriptor at) {
        List<UniqueId.Segment> segments = at.getUniqueId().getSegments();
        return segments.get(segments.size() - 1).getType().endsWith(TEMPLATE);
    }

    private static String className(TestDescriptor at) {
        TestSource source = at.getSource().orElse(null);
        return source instanceof ClassSource ? ((ClassSource) source).getClassName() : null;
    }

    private static String name(TestDescriptor at) {
        Optional<TestSource> source = at.getSource();
        if (source.isPresent() && source.get() instanceof MethodSource) {
            return ((MethodSource) source.get()).getMethodName();
        }
        return at.getDisplayName();
    }

    /** The path without its first segment, in which copies differ. */
    static String path(TestDescriptor at) {
        StringBuilder path = new StringBuilder();
        List<UniqueId.Segment> segments = at.getUniqueId().getSegments();
        for (UniqueId.Segment segment : segments.subList(1, segments.size())) {
            path.append('/').append(segment.getType()).append(':').append(segment.getValue());
        }
        return path.toString();
    }
}
