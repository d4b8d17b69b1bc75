package unflake.agent.watch;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import unflake.agent.wire.Json;

/**
 * Which classes will these tests use?
 *
 * <p>A class has no state before it is initialised, and a polluter often is the first to use what
 * it pollutes: then there is nothing to compare with, and nothing to go back to. Initialising every
 * class of the project beforehand would start things that no test starts. So another process runs
 * the same tests first and writes down which classes of the project they initialise; these are
 * initialised here before the first look. The result is kept for later runs of the same tests.
 */
public final class UsedClasses implements Watch {
    /** The engine tolerates half a minute of silence. */
    public static final long SECONDS_MAX = 20;

    private final Heap heap;
    private final PrintStream out;

    private UsedClasses(Heap heap, PrintStream out) {
        this.heap = heap;
        this.out = out;
    }

    /** Initialises the classes that these tests will use. */
    public static void initialize(String planFile, List<Integer> order) throws IOException {
        List<String> words = new ArrayList<>();
        order.forEach(index -> words.add(index.toString()));
        byte[] text = String.join(",", words).getBytes(StandardCharsets.US_ASCII);
        String name = "used-classes-" + UUID.nameUUIDFromBytes(text);
        File found = new File(new File(planFile).getParentFile(), name);
        if (!found.exists()) {
            findOut(planFile, words, found);
        }
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        for (String type : Files.readAllLines(found.toPath(), StandardCharsets.UTF_8)) {
            try {
                Class.forName(type, true, loader);
            } catch (Throwable broken) {
                // Then it also fails for the tests.
                continue;
            }
        }
    }

    private static void findOut(String planFile, List<String> order, File found)
            throws IOException {
        byte[] own = Files.readAllBytes(new File("/proc/self/cmdline").toPath());
        List<String> words = Arrays.asList(new String(own, StandardCharsets.UTF_8).split("\0"));
        File draft = File.createTempFile("used-classes", null, found.getParentFile());
        int end = words.indexOf(planFile) + 1;
        List<String> command = new ArrayList<>(words.subList(0, end));
        command.addAll(Arrays.asList("--used", draft.getPath()));
        command.addAll(order);
        File nowhere = new File("/dev/null");
        Process process = new ProcessBuilder(command)
                .redirectInput(nowhere)
                .redirectOutput(nowhere)
                .redirectError(nowhere)
                .start();
        try {
            if (!process.waitFor(SECONDS_MAX, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException nobody) {
            throw new IllegalStateException(nobody);
        }
        Files.move(draft.toPath(), found.toPath(), StandardCopyOption.ATOMIC_MOVE);
    }

    /**
     * In the other process: writes what the tests initialise to a file. This is done at once,
     * because a test may end the process.
     */
    public static Watch notedIn(String file, List<String> folders) throws IOException {
        return new UsedClasses(new Heap(folders), new PrintStream(file, "UTF-8"));
    }

    @Override
    public void look(Map<String, Object> end) {
        heap.awoken().forEach(out::println);
        out.flush();
    }

    @Override
    public Map<String, Object> lastWords() {
        return Json.object();
    }
}
