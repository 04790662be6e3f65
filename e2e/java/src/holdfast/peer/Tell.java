package holdfast.peer;

/** Sends an event about one thing: {@code ! <recipe> <name> word...}. */
interface Tell {
    void say(Object... words);
}
