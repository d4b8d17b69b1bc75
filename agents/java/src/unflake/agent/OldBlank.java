package unflake.agent;

/** An empty test for JUnit 4. */
public final class OldBlank {
    static final Test TEST = new Test(0, "unflake.agent.OldBlank#nothing", OldBlank.class.getName(),
            Backend.OLD);

    @org.junit.Test
    public void nothing() {}
}
