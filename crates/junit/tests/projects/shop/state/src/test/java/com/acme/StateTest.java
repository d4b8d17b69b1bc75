package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Locale;
import java.util.TimeZone;
import org.junit.jupiter.api.Test;

class StateTest {
    @Test
    void isClean() {
        World.names = new ArrayList<>(Arrays.asList("a", "b"));
        World.ENTRIES.put("passing", "by");
        World.ENTRIES.remove("passing");
        World.COUNT.incrementAndGet();
        World.COUNT.decrementAndGet();
        assertEquals("calm", World.TOUCHY.mood);
    }

    @Test
    void changesFields() {
        World.number = 2;
        World.names = new ArrayList<>(Arrays.asList("a", "c"));
        World.TOUCHY.mood = "angry";
        World.Color.GREEN.uses++;
    }

    @Test
    void changesContents() {
        World.ENTRIES.put("kept", "new");
        World.ENTRIES.put("added", 7L);
        World.ENTRIES.remove(World.Color.RED);
        World.GUARDED.add("item");
        World.TAGS.add("z");
        World.NUMBERS[1] = 20;
        World.WORDS[0] = "ONE";
        World.COUNT.set(5);
        World.LOCAL.set("mine");
        World.LOG.append(" and ended");
    }

    @Test
    void changesTheProcess() {
        System.setProperty("acme.added", "yes");
        System.clearProperty("acme.given");
        Locale.setDefault(Locale.GERMANY);
        TimeZone.setDefault(TimeZone.getTimeZone("Asia/Tokyo"));
        System.setOut(new PrintStream(new ByteArrayOutputStream()));
        Thread left = new Thread(() -> {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException end) {
                return;
            }
        }, "left");
        left.setDaemon(true);
        left.start();
    }

    @Test
    void nothingIsAskedAnything() {
        assertEquals(0, World.Touchy.asked);
    }

    @Test
    void findsAllAsItWas() {
        assertEquals(1, World.number);
        assertEquals(Arrays.asList("a", "b"), World.names);
        assertEquals("calm", World.TOUCHY.mood);
        assertEquals(0, World.Color.GREEN.uses);
        assertEquals("old", World.ENTRIES.get("kept"));
        assertEquals(3, World.ENTRIES.size());
        assertEquals(1, World.ENTRIES.get(World.Color.RED));
        assertEquals(0, World.GUARDED.size());
        assertEquals(2, World.TAGS.size());
        assertEquals(2, World.NUMBERS[1]);
        assertEquals("one", World.WORDS[0]);
        assertEquals(0, World.COUNT.get());
        assertThrows(IllegalStateException.class, World.LOCAL::get);
        assertEquals("begun", World.LOG.toString());
        assertEquals(null, System.getProperty("acme.added"));
        assertEquals("yes", System.getProperty("acme.given"));
        assertEquals(Locale.US, Locale.getDefault());
        assertEquals("UTC", TimeZone.getDefault().getID());
    }
}
