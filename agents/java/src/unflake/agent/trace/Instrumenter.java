package unflake.agent.trace;

import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Makes classes report which of their methods run, and which of Java's own they call.
 *
 * <p>A call of {@link Probe#hit} is inserted at the beginning of each method and before each call
 * of a method of Java's own. Nothing else is changed: no additional variable, branch, field or
 * method. Java's own classes and those of the runner stay as they are.
 */
public final class Instrumenter implements ClassFileTransformer {
    private static final int API = Opcodes.ASM9;
    private static final String PROBE = "unflake/agent/trace/Probe";
    private static final String ANCESTOR = "java/lang/Object";
    private static final String BEGIN = "<init>";

    /**
     * Packages of Java. Others use {@code javax}, too: which class defines a method is checked
     * later.
     */
    private static final String[] OF_JAVA = {"java/", "javax/", "jdk/", "sun/"};
    /**
     * Packages that are left alone: those of test runners, of classes that Java generates, and of
     * libraries that generate objects for tests, which are two thirds of all classes where they are
     * used.
     */
    private static final String[] LEFT_ALONE = {
        "unflake/agent/", "junit/", "org/junit/", "org/opentest4j/", "org/apiguardian/",
        "org/apache/maven/surefire/", "org/gradle/", "jdk/", "sun/", "com/sun/proxy/",
        "org/mockito/", "net/bytebuddy/", "org/objenesis/",
    };
    /** Java's own proxies, whatever package they are in. */
    private static final String STAND_IN = "$Proxy";
    /** Longer than any chain of classes. */
    private static final int ANCESTORS_MAX = 100;

    /** The loader of the classes that stay as they are: Java's own, and ours. */
    private final ClassLoader platform = ClassLoader.getSystemClassLoader().getParent();
    private final ClassLoader own = Instrumenter.class.getClassLoader();
    /** The superclass of each class. */
    private final Map<String, String> parents = new ConcurrentHashMap<>();

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> before,
            ProtectionDomain domain, byte[] bytes) {
        boolean isOurs = loader == null || loader == platform || loader == own;
        if (isOurs || name == null || isOf(LEFT_ALONE, name)
                || simple(name).startsWith(STAND_IN)) {
            return null;
        }
        try {
            ClassReader reader = new ClassReader(bytes);
            ClassWriter writer = new ClassWriter(reader, 0);
            parents.put(name, reader.getSuperName());
            reader.accept(new Woven(writer, loader), 0);
            return writer.toByteArray();
        } catch (Throwable unwilling) {
            // Too large, or newer than the library knows: it works, but is not traced.
            return null;
        }
    }

    private static String simple(String name) {
        return name.substring(name.lastIndexOf('/') + 1);
    }

    private static boolean isOf(String[] packages, String name) {
        for (String start : packages) {
            if (name.startsWith(start)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a class that is not Java's extends one that is, and may have inherited methods. */
    private boolean isHeir(ClassLoader loader, String name) {
        String at = name;
        for (int i = 0; i < ANCESTORS_MAX; i++) {
            String known = parents.get(at);
            if (known == null) {
                known = parent(loader, at);
                parents.put(at, known);
            }
            at = known;
            if (at.equals(ANCESTOR)) {
                return false;
            }
            if (isOf(OF_JAVA, at)) {
                return true;
            }
        }
        return false;
    }

    /** Reads the class file, because loading the class now might be too early. */
    private static String parent(ClassLoader loader, String name) {
        try (InputStream in = loader.getResourceAsStream(name + ".class")) {
            return in == null ? ANCESTOR : new ClassReader(in).getSuperName();
        } catch (IOException | RuntimeException unread) {
            return ANCESTOR;
        }
    }

    /** Adds probes to a class. */
    private final class Woven extends ClassVisitor {
        private final ClassLoader loader;
        private String name;
        private String file;

        Woven(ClassVisitor next, ClassLoader loader) {
            super(API, next);
            this.loader = loader;
        }

        @Override
        public void visit(int version, int access, String name, String signature, String parent,
                String[] interfaces) {
            this.name = name;
            super.visit(version, access, name, signature, parent, interfaces);
        }

        @Override
        public void visitSource(String source, String debug) {
            file = source;
            super.visitSource(source, debug);
        }

        @Override
        public MethodVisitor visitMethod(int access, String method, String signature,
                String generic, String[] exceptions) {
            MethodVisitor next =
                    super.visitMethod(access, method, signature, generic, exceptions);
            boolean isCopy = (access & Opcodes.ACC_BRIDGE) != 0;
            boolean isEmpty = (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0;
            if (next == null || isCopy || isEmpty) {
                return next;
            }
            String source = file == null ? simple(name) + ".class" : file;
            return new Probed(next, loader, new Probe.Place(name, method, signature, source));
        }
    }

    /** Adds probes to a method. */
    private final class Probed extends MethodVisitor {
        private final ClassLoader loader;
        private final Probe.Place place;

        Probed(MethodVisitor next, ClassLoader loader, Probe.Place place) {
            super(API, next);
            this.loader = loader;
            this.place = place;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            probe(place);
        }

        @Override
        public void visitLineNumber(int line, Label start) {
            if (place.line == 0 || line < place.line) {
                place.line = line;
            }
            super.visitLineNumber(line, start);
        }

        @Override
        public void visitMethodInsn(int code, String owner, String method, String signature,
                boolean isInterface) {
            probeCall(code != Opcodes.INVOKESTATIC, owner, method, signature);
            super.visitMethodInsn(code, owner, method, signature, isInterface);
        }

        /** A function that is passed on counts as called: {@code generate(Math::random)}. */
        @Override
        public void visitInvokeDynamicInsn(String method, String signature, Handle maker,
                Object... arguments) {
            for (Object argument : arguments) {
                if (argument instanceof Handle) {
                    Handle handle = (Handle) argument;
                    probeCall(false, handle.getOwner(), handle.getName(), handle.getDesc());
                }
            }
            super.visitInvokeDynamicInsn(method, signature, maker, arguments);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitMaxs(stack + 1, locals);
        }

        private void probeCall(boolean isOnObject, String owner, String method, String signature) {
            boolean isNew = method.equals(BEGIN);
            if (isNew && owner.equals(ANCESTOR) || owner.startsWith("[")) {
                return;
            }
            if (isOf(OF_JAVA, owner) || isOnObject && !isNew && isHeir(loader, owner)) {
                probe(new Probe.Place(owner, method, signature, null));
            }
        }

        private void probe(Probe.Place place) {
            mv.visitLdcInsn(Probe.number(place));
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, PROBE, "hit", "(I)V", false);
        }
    }
}
