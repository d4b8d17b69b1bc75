package com.acme;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What can happen to a process. */
class HazardTest {
    @Test
    void calm() {}

    @Test
    void exits() {
        System.exit(3);
    }

    @Test
    void crashes() throws Exception {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        type.getMethod("putAddress", long.class, long.class).invoke(field.get(null), 0L, 0L);
    }

    @Test
    void hangs() {
        Object one = new Object();
        synchronized (one) {
            while (true) {
                try {
                    one.wait();
                } catch (InterruptedException stubborn) {
                    continue;
                }
            }
        }
    }

    @Test
    void fillsMemory() {
        List<long[]> hoard = new ArrayList<>();
        while (true) {
            hoard.add(new long[1 << 20]);
        }
    }

    @Test
    void leavesAnInterruptedThread() {
        Thread.currentThread().interrupt();
    }

    @Test
    void closesTheStandardStreams() {
        System.out.close();
        System.err.close();
    }

    @Test
    void leavesAThread() {
        new Thread(() -> {
            while (true) {
                try {
                    Thread.sleep(1000000);
                } catch (InterruptedException stubborn) {
                    continue;
                }
            }
        }).start();
    }
}
