package holdfast.chaos;

import java.util.Map;
import java.util.function.BiConsumer;

/** One client of a lock service. All takes and gives of a contender are on one thread of its own, which is the owner. */
interface Locks extends AutoCloseable {
    /** Opens a client: {@code setup} as the protocol has it, the longest lease of its keys, and what hears of its state. */
    interface Opener {
        /** {@code heard}: gets {@code lost}, {@code uncertain} or {@code recovered}, of all that is held, and why. */
        Locks open(Map<String, Object> setup, long leaseMs, BiConsumer<String, String> heard) throws Exception;
    }

    /** What was granted. */
    interface Grant {
        /** {@code null} where this client has none. */
        Long token();

        /** Throws where nobody knows whether it is given back. */
        void release() throws Exception;
    }

    /**
     * Waits as long as {@code waitMs} says, or for ever where that is {@code null}; {@code null} when it was not granted. Interrupting
     * the thread ends the wait with an exception, where the library lets itself be interrupted.
     */
    Grant acquire(Key key, String mode, Long waitMs, String label) throws Exception;

    /** Gives everything back that this client has at the servers. */
    @Override
    void close();

    /** Of the libraries that are tested. */
    Map<String, Object> versions();
}
