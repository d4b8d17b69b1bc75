package com.acme;

import java.io.File;
import java.io.FileOutputStream;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

class WildTest {
    @Test
    void isCalm() {}

    @Test
    void hangs() throws Exception {
        File alive = new File("alive");
        // Open until the process is gone.
        FileOutputStream pipe = alive.exists() ? new FileOutputStream(alive) : null;
        if (pipe != null) {
            pipe.write('x');
        }
        Object one = new Object();
        synchronized (one) {
            while (true) {
                one.wait();
            }
        }
    }

    @Test
    void crashes() throws Exception {
        // What a Java that meets a fault of its own leaves with depends on whether it may dump core.
        String own = ManagementFactory.getRuntimeMXBean().getName();
        new ProcessBuilder("kill", "-9", own.substring(0, own.indexOf('@'))).start();
        hangs();
    }

    @Test
    void exits() {
        System.exit(0);
    }

    @Test
    void staysCalm() {}
}
