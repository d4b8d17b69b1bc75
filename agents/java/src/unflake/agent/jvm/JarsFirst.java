package unflake.agent.jvm;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.ZipFile;

/**
 * Would classes be found in the same place if all jars came before all folders?
 *
 * <p>They would, if no class is both in a folder and in a jar.
 */
public final class JarsFirst {
    /** Deeper than any package. */
    private static final int FOLDERS_MAX = 100;

    /** Not a class; many jars have one. */
    private static final String MODULE = "module-info.class";

    private JarsFirst() {}

    public static boolean isSame(String classPath) {
        List<String> names = new ArrayList<>();
        List<File> jars = new ArrayList<>();
        for (String entry : classPath.split(File.pathSeparator)) {
            File file = new File(entry);
            if (file.isDirectory()) {
                addClasses(file, "", FOLDERS_MAX, names);
            } else if (file.isFile()) {
                jars.add(file);
            }
        }
        for (File jar : jars) {
            try (ZipFile zip = new ZipFile(jar)) {
                for (String name : names) {
                    if (zip.getEntry(name) != null) {
                        return false;
                    }
                }
            } catch (IOException unread) {
                return false;
            }
        }
        return true;
    }

    private static void addClasses(File folder, String prefix, int depth, List<String> names) {
        File[] files = folder.listFiles();
        for (File file : files == null || depth == 0 ? new File[0] : files) {
            String name = prefix + file.getName();
            if (file.isDirectory()) {
                addClasses(file, name + "/", depth - 1, names);
            } else if (name.endsWith(".class") && !name.equals(MODULE)) {
                names.add(name);
            }
        }
    }
}
