package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.URL;
import java.net.URLClassLoader;
import java.security.SecureRandom;
import java.util.Date;
import java.util.function.DoubleSupplier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CallsTest {
    static class Worker extends Thread {
        @Override
        public void run() {
            Ledger.onThread();
        }
    }

    @BeforeAll
    static void once() {
        Ledger.once();
    }

    @BeforeEach
    void before() {
        Ledger.before();
    }

    @Test
    void callsItsOwn() {
        assertEquals(7, new Ledger(3).add(4));
    }

    @Test
    void takesOneBranch() {
        assertEquals(1, Ledger.branch(true));
    }

    @Test
    void asksJava() {
        new Date(System.currentTimeMillis());
        new SecureRandom().nextInt(5);
    }

    @Test
    void handsFunctionsOn() {
        DoubleSupplier random = Math::random;
        Runnable own = () -> Ledger.inLambda();
        own.run();
        random.getAsDouble();
    }

    @Test
    void startsAThread() throws Exception {
        Worker worker = new Worker();
        worker.start();
        worker.join();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void hasParts(int part) {
        if (part == 1) {
            Ledger.one(new String[0], new long[0][]);
        } else {
            Ledger.two();
        }
    }

    /** By a class loader that knows nothing of ours. */
    @Test
    void loadsByItself() throws Exception {
        URL[] here = {Ledger.class.getProtectionDomain().getCodeSource().getLocation()};
        try (URLClassLoader apart = new URLClassLoader(here, null)) {
            Class<?> other = apart.loadClass("com.acme.Ledger");
            assertEquals("here", other.getMethod("elsewhere").invoke(null));
        }
    }

    @Test
    void fails() {
        Ledger.fail();
    }
}
