package unflake.agent.platform;

/** An empty test for Jupiter. */
final class EmptyJupiterTest {
    @org.junit.jupiter.api.Test
    void nothing() {}
}
