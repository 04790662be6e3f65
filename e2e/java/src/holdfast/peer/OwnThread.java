package holdfast.peer;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Curator's mutexes belong to threads and commands arrive on any: all that is done to one lock is done on one of these. */
final class OwnThread {
    private final ExecutorService thread = Executors.newSingleThreadExecutor(Peer::daemon);

    <T> T run(Callable<T> body) throws Exception {
        try {
            return thread.submit(body).get();
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw failure;
        }
    }
}
