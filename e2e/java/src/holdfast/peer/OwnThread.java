package holdfast.peer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Curator's mutexes belong to threads, and commands arrive on any thread. So all calls of one object run on one of these. */
final class OwnThread {
    interface Body {
        void run() throws Exception;
    }

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

    List<String> silently(Body body) throws Exception {
        return run(() -> {
            body.run();
            return List.of();
        });
    }

    /** One thread for each name. */
    static final class Named {
        private final Map<String, OwnThread> threads = new ConcurrentHashMap<>();

        OwnThread get(String name) {
            return threads.computeIfAbsent(name, ignored -> new OwnThread());
        }
    }
}
