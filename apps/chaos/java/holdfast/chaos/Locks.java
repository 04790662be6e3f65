package holdfast.chaos;

import java.util.Map;
import java.util.function.BiConsumer;

/** One client of a lock service. A contender acquires and releases on its own thread, which is the owner. */
interface Locks extends AutoCloseable {
    /** Opens a client from the protocol's {@code setup}, the longest lease of its keys, and a listener for its state. */
    interface Opener {
        /** {@code heard} gets {@code lost}, {@code uncertain} or {@code recovered}, which count for all holds, and the cause. */
        Locks open(Map<String, Object> setup, long leaseMs, BiConsumer<String, String> heard) throws Exception;
    }

    /** A granted lock. */
    interface Grant {
        /** The fencing token, or {@code null} if this client has none. */
        Long token();

        /** Releases the lock. Throws if it is not known whether it was released. */
        void release() throws Exception;
    }

    /**
     * Waits for {@code waitMs}, or for ever if that is {@code null}. Returns {@code null} if the lock was not granted.
     * Interrupting the thread ends the wait with an exception, if the library can be interrupted.
     */
    Grant acquire(Key key, String mode, Long waitMs, String label) throws Exception;

    /** Gives back everything that this client has at the servers. */
    @Override
    void close();

    /** The versions of the tested libraries. */
    Map<String, Object> versions();
}
