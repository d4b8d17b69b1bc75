package com.acme;

/** Whose methods are called is what is looked at. */
public class Ledger {
    private int sum;

    public Ledger(int begin) {
        sum = begin;
    }

    public int add(int amount) {
        sum += amount;
        return sum;
    }

    public static void before() {}

    public static void once() {}

    public static void onThread() {}

    public static void inLambda() {}

    public static void one(String[] words, long[][] numbers) {}

    public static void two() {}

    public static String elsewhere() {
        return "here";
    }

    public static void fail() {
        throw new IllegalStateException("closed");
    }

    public static long branch(boolean isLeft) {
        return isLeft ? Math.abs(-1L) : System.nanoTime();
    }
}
