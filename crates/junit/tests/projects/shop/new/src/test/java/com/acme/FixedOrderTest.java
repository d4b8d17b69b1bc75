package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@TestMethodOrder(MethodOrderer.MethodName.class)
class FixedOrderTest {
    private static int starts;
    private static boolean isSet;

    @BeforeAll
    static void start() {
        starts++;
    }

    @AfterAll
    static void stop() {
        isSet = false;
    }

    @Test
    void a() {
        isSet = true;
    }

    @Test
    void b() {
        assertTrue(isSet, "b before a\nmore");
    }

    @Test
    void c() {
        Assumptions.assumeTrue(false, "not today");
    }

    @Disabled("never")
    @Test
    void d() {}

    @Test
    void e() {
        assertEquals(1, starts, "times the class was set up");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void f(int n) {
        assertNotEquals(2, n);
    }

    @TestFactory
    Stream<DynamicTest> g() {
        return Stream.of("x", "y").map(name -> DynamicTest.dynamicTest(name, () -> {}));
    }

    @Test
    void h() {}

    @Test
    void h(TestInfo info) {
        assertEquals("h(TestInfo)", info.getDisplayName());
    }

    @Nested
    class Inner {
        @Test
        void first() {}

        @Test
        void second() {
            assertEquals(1, starts, "times the outer class was set up");
        }
    }
}
