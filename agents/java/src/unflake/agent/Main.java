package unflake.agent;

import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import unflake.agent.backend.Backends;
import unflake.agent.backend.Preload;
import unflake.agent.jvm.ClassPath;
import unflake.agent.perturb.Choices;
import unflake.agent.run.Capture;
import unflake.agent.run.Reporter;
import unflake.agent.run.ResultPrinter;
import unflake.agent.run.Slot;
import unflake.agent.run.Test;
import unflake.agent.trace.Tracer;
import unflake.agent.watch.Heap;
import unflake.agent.watch.UsedClasses;
import unflake.agent.watch.Watch;
import unflake.agent.watch.Watcher;
import unflake.agent.wire.Connection;
import unflake.agent.wire.Json;
import unflake.agent.wire.Plan;

/**
 * Our code inside the Java process that runs the tests.
 *
 * <pre>
 * java ... unflake.agent.Main PLAN fd:N,N,N TOKEN    one run, as the engine asks for it
 * java ... unflake.agent.Main PLAN --collect FILE    writes down which tests there are
 * java ... unflake.agent.Main PLAN --run TEST ...    runs tests in this order, for a person
 * java ... unflake.agent.Main PLAN --used FILE N ..  writes down which classes these tests use
 * java ... unflake.agent.Main PLAN --rehearse N      runs all tests, for N seconds at most
 * </pre>
 *
 * <p>A Java process cannot be forked, so it makes one run and exits. The tests were collected once,
 * by another process: looking into every test class at each start would take longer than most runs,
 * and would load and initialise classes that the tests of the run do not.
 */
public final class Main {
    private static final int NO_ENGINE = 97;
    private static final int BROKEN = 98;
    private static final int VERSION = 1;

    /** More than it takes to wake up a thread. */
    private static final long HUSH_MS_MAX = 300;

    private final String planFile;
    private final Plan plan;
    /** Whether the run is over, so that we end the connection ourselves. */
    private volatile boolean isLeaving;

    private Main(String planFile) throws IOException {
        this.planFile = planFile;
        plan = Plan.read(planFile);
    }

    public static void main(String[] arguments) {
        PrintStream errors = System.err;
        int status;
        try {
            status = start(arguments, errors);
        } catch (UnsupportedOperationException | IOException fault) {
            errors.println("unflake agent: " + fault.getMessage());
            status = NO_ENGINE;
        } catch (Throwable fault) {
            fault.printStackTrace(errors);
            status = BROKEN;
        }
        errors.flush();
        // This skips the shutdown hooks of the tested program: what it leaves behind dies with us.
        Runtime.getRuntime().halt(status);
    }

    private static int start(String[] arguments, PrintStream errors) throws IOException {
        if (arguments.length < 3) {
            errors.println("unflake agent: not called by the engine");
            return NO_ENGINE;
        }
        ownTemporaryFolder();
        Main main = new Main(arguments[0]);
        if (main.plan.classPath != null) {
            ClassPath.arrange(main.plan.classPath);
        }
        for (Map.Entry<String, String> entry : main.plan.properties.entrySet()) {
            System.setProperty(entry.getKey(), entry.getValue());
        }
        if (arguments[1].equals("--collect")) {
            String json = Json.write(Backends.of(main.plan).collect(main.plan));
            Files.write(new File(arguments[2]).toPath(), json.getBytes(StandardCharsets.US_ASCII));
            return 0;
        }
        if (arguments[1].equals("--run")) {
            return main.runFor(arguments);
        }
        if (arguments[1].equals("--used")) {
            main.noteUsedClasses(arguments);
            return 0;
        }
        if (arguments[1].equals("--rehearse")) {
            // With none, this only tests whether Java can be started like this.
            return main.rehearse(Long.parseLong(arguments[2]));
        }
        main.serve(arguments[1], arguments[2]);
        return 0;
    }

    /** Java ignores TMPDIR. Set before anybody asks, because the answer is kept. */
    private static void ownTemporaryFolder() {
        String folder = System.getenv("TMPDIR");
        if (folder != null && "/tmp".equals(System.getProperty("java.io.tmpdir"))) {
            System.setProperty("java.io.tmpdir", folder);
        }
    }

    private void serve(String pipes, String token) throws IOException {
        Capture capture = Capture.install();
        Connection.Address address = new Connection.Address(pipes);
        Connection server = hello(address.server(), token, "server", null);
        String collected = plan.collected();
        server.say(collected);
        Preload preload = Preload.begin(plan);
        Map<?, ?> run = awaitRun(server);
        if (run == null) {
            return;
        }
        Object number = integer(run.get("run"));
        server.say("forked", Json.object("run", number, "pid", pid()));
        Thread listener = leaveWith(server);
        Connection connection = hello(address.run(), token, "run", number);
        connection.say("isolated",
                Json.object("applied", new ArrayList<>(), "refused", refuse(run)));
        List<Test> tests = tests(collected);
        Set<Integer> brief = new HashSet<>(integers(run.get("brief")));
        Choices choices = Choices.of(run);
        Backends backends = preload.finish(choices != null);
        Watch watch = watch(run);
        Tracer tracer = Boolean.TRUE.equals(run.get("trace")) ? new Tracer() : null;
        Reporter reporter = new Reporter(connection, capture, brief, watch, tracer);
        boolean isTwice = Boolean.TRUE.equals(run.get("twice"));
        List<Slot> slots = slots(tests, integers(run.get("order")), isTwice);
        if (choices != null) {
            choices.begin();
        }
        backends.run(slots, reporter);
        Map<String, Object> done = watch.lastWords();
        if (choices != null) {
            done.put("chosen", choices.lastWords());
        }
        connection.say("done", done);
        hush(address, listener);
    }

    /** A thread that waits outside of Java's control would delay {@code halt} by 0.3 s. */
    private void hush(Connection.Address address, Thread listener) {
        isLeaving = true;
        try {
            address.hush();
            listener.join(HUSH_MS_MAX);
        } catch (IOException | InterruptedException | SecurityException left) {
            // A test left the process or its thread in a bad state; then exiting takes a little
            // longer.
            return;
        }
    }

    private Watch watch(Map<?, ?> run) throws IOException {
        Object kinds = run.get("watch");
        Map<?, ?> wish = (Map<?, ?>) run.get("restore");
        if (kinds == null && wish == null) {
            return Watch.NONE;
        }
        Heap heap;
        try {
            heap = new Heap(plan.folders);
        } catch (UnsupportedOperationException closed) {
            return Watch.BLIND;
        }
        UsedClasses.initialize(planFile, integers(run.get("order")));
        Set<String> told = kinds == null ? null : new HashSet<>(texts(kinds));
        return new Watcher(heap, told, wish == null ? null : new Watcher.Wish(
                integer(wish.get("before")).intValue(),
                texts(wish.get("items")),
                Boolean.TRUE.equals(wish.get("all_but"))));
    }

    private static Connection hello(Connection connection, String token, String role, Object run)
            throws IOException {
        connection.say("hello", Json.object(
                "version", VERSION,
                "role", role,
                "run", run,
                "token", token,
                "pid", pid(),
                "runner", "Java " + System.getProperty("java.version")));
        return connection;
    }

    /** Null if the engine no longer needs us. */
    private static Map<?, ?> awaitRun(Connection server) throws IOException {
        while (true) {
            Map<?, ?> message;
            try {
                message = (Map<?, ?>) server.receive();
            } catch (EOFException gone) {
                return null;
            }
            if (message.containsKey("stop")) {
                return null;
            }
            if (message.containsKey("run")) {
                return (Map<?, ?>) message.get("run");
            }
        }
    }

    /** From here on, this process ends when the engine ends or says so. */
    private Thread leaveWith(Connection server) {
        Thread listener = new Thread(() -> {
            try {
                awaitRun(server);
            } catch (IOException gone) {
                // Both end this process.
            }
            if (!isLeaving) {
                Runtime.getRuntime().halt(0);
            }
        }, "unflake-listener");
        listener.setDaemon(true);
        listener.start();
        return listener;
    }

    private static List<Object> refuse(Map<?, ?> run) {
        List<Object> refused = new ArrayList<>();
        for (Object level : (List<?>) run.get("isolation")) {
            String why = "a Java process cannot set itself apart";
            refused.add(Json.object("level", level, "why", why));
        }
        return refused;
    }

    private static List<Test> tests(String collected) {
        Map<?, ?> body = (Map<?, ?>) ((Map<?, ?>) Json.parse(collected)).get("collected");
        List<Test> tests = new ArrayList<>();
        for (Object test : (List<?>) body.get("tests")) {
            tests.add(Test.read(tests.size(), (Map<?, ?>) test));
        }
        return tests;
    }

    private static List<Slot> slots(List<Test> tests, List<Integer> order, boolean isTwice) {
        List<Slot> slots = new ArrayList<>();
        for (int position = 0; position < order.size(); position++) {
            Test test = tests.get(order.get(position));
            for (int attempt = 0; attempt < (isTwice ? 2 : 1); attempt++) {
                slots.add(new Slot(test, position, attempt));
            }
        }
        return slots;
    }

    /** Runs the tests for a later run that is watched. */
    private void noteUsedClasses(String[] arguments) throws IOException {
        List<Integer> order = new ArrayList<>();
        for (int i = 3; i < arguments.length; i++) {
            order.add(Integer.valueOf(arguments[i]));
        }
        leaveAfter(UsedClasses.SECONDS_MAX);
        Capture.install();
        Reporter reporter =
                Reporter.mute(UsedClasses.notedIn(arguments[2], plan.folders));
        Backends.of(plan).run(slots(tests(plan.collected()), order, false), reporter);
    }

    /** Makes an archive of classes: Java writes down what it loads. */
    private int rehearse(long seconds) throws IOException {
        if (seconds == 0) {
            return 0;
        }
        leaveAfter(seconds);
        Capture.install();
        List<Slot> slots = new ArrayList<>();
        for (Test test : tests(plan.collected())) {
            slots.add(new Slot(test, slots.size(), 0));
        }
        Backends backends = Backends.of(plan);
        backends.warmUp();
        backends.run(slots, Reporter.mute(Watch.NONE));
        return 0;
    }

    /** Ends the process after this time, whatever is still running. */
    private static void leaveAfter(long seconds) {
        Thread limit = new Thread(() -> {
            try {
                TimeUnit.SECONDS.sleep(seconds);
            } catch (InterruptedException early) {
                // Then nobody waits for us, either.
            }
            Runtime.getRuntime().halt(0);
        }, "unflake-limit");
        limit.setDaemon(true);
        limit.start();
    }

    /** For a person: prints a line for each test, and the failures; status 1 if there are any. */
    private int runFor(String[] arguments) throws IOException {
        List<Test> tests = tests(plan.collected());
        List<Slot> slots = new ArrayList<>();
        for (int i = 2; i < arguments.length; i++) {
            Test found = null;
            for (Test test : tests) {
                found = test.id.equals(arguments[i]) ? test : found;
            }
            if (found == null) {
                System.err.println("no test is called `" + arguments[i] + "`");
                return 2;
            }
            slots.add(new Slot(found, slots.size(), 0));
        }
        ResultPrinter printer = new ResultPrinter(slots, System.out);
        Reporter reporter =
                new Reporter(printer, Capture.install(), new HashSet<>(), Watch.NONE, null);
        Backends.of(plan).run(slots, reporter);
        return printer.hasFailures() ? 1 : 0;
    }

    private static List<Integer> integers(Object value) {
        List<Integer> integers = new ArrayList<>();
        if (value != null) {
            for (Object number : (List<?>) value) {
                integers.add(((Double) number).intValue());
            }
        }
        return integers;
    }

    private static List<String> texts(Object value) {
        List<String> texts = new ArrayList<>();
        for (Object text : (List<?>) value) {
            texts.add((String) text);
        }
        return texts;
    }

    private static Long integer(Object value) {
        return ((Double) value).longValue();
    }

    /** Reads it without the management classes, which take longer to load than we do. */
    private static long pid() throws IOException {
        return Long.parseLong(new File("/proc/self").getCanonicalFile().getName());
    }
}
