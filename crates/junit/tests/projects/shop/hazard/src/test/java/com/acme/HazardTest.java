package com.acme;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
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
    void spins() {
        while (true) {
            Thread.yield();
        }
    }

    @Test
    void deadlocks() throws Exception {
        Object one = new Object();
        Object other = new Object();
        CountDownLatch both = new CountDownLatch(2);
        Thread thread = new Thread(() -> lock(one, other, both));
        thread.start();
        lock(other, one, both);
    }

    private static void lock(Object first, Object second, CountDownLatch both) {
        synchronized (first) {
            both.countDown();
            try {
                both.await();
            } catch (InterruptedException nobody) {
                throw new IllegalStateException(nobody);
            }
            synchronized (second) {
                throw new IllegalStateException("no deadlock");
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
