package holdfast.chaos;

/** A hold, with its name in the history. */
final class Held {
    private final String id;
    private final Key key;
    private final Locks.Grant grant;
    private volatile boolean lost;

    Held(String id, Key key, Locks.Grant grant) {
        this.id = id;
        this.key = key;
        this.grant = grant;
    }

    String id() {
        return id;
    }

    Key key() {
        return key;
    }

    Locks.Grant grant() {
        return grant;
    }

    boolean lost() {
        return lost;
    }

    void lose() {
        lost = true;
    }
}
