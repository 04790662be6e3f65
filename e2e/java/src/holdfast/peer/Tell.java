package holdfast.peer;

/** Sends an event about one object: {@code ! <recipe> <name> word...}. */
interface Tell {
    void say(Object... words);
}
