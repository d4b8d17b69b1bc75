package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.fail;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@TestMethodOrder(MethodOrderer.MethodName.class)
class NamesTest {
    @Test
    void $dollar$() {}

    @Test
    void größe() {
        fail();
    }

    @DisplayName("it is shown, 'otherwise' [1] #2")
    @Test
    void isShownOtherwise() {}

    @ParameterizedTest(name = "{0} is not two")
    @ValueSource(ints = {1, 2})
    void isNotTwo(int n) {
        assertNotEquals(2, n);
    }

    @Test
    void overloaded() {}

    @Test
    void overloaded(TestInfo info) {
        assertEquals("no such name", info.getDisplayName());
    }

    @Test
    void 日本() {}

    @Nested
    class Inner {
        @Test
        void deep() {
            fail();
        }
    }
}
