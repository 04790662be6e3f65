package holdfast.peer;

import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Redisson's locks belong to threads, but commands arrive on any thread. So commands that belong together run on one of
 * these threads. A thread's name is valid in the whole process, so that two objects of a client can use one thread.
 */
final class NamedThreads {
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

    <T> T run(String name, Callable<T> body) throws Exception {
        try {
            return threads.computeIfAbsent(name, ignored -> Executors.newSingleThreadExecutor(NamedThreads::daemon))
                    .submit(body)
                    .get();
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw failure;
        }
    }

    static Thread daemon(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        return thread;
    }
}
