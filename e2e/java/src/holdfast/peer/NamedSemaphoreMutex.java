package holdfast.peer;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;

/** A mutex that any thread may release, so it has no thread of its own. */
final class NamedSemaphoreMutex {
    private NamedSemaphoreMutex() {}

    static void addTo(Commands commands) {
        // semaphoreMutex.new <mutex> <client> <path>
        new Recipe<InterProcessLock>(
                commands, "semaphoreMutex", (client, a, tell) -> new InterProcessSemaphoreMutex(client, a.get(0)))
                // acquire <waitMs, negative for ever> -> true or false
                .verb("acquire", (mutex, a) -> Answer.of(acquire(mutex, Long.parseLong(a.get(0)))))
                .verb("release", (mutex, a) -> {
                    mutex.release();
                    return List.of();
                })
                // Whether Curator believes to hold it.
                .verb("holding", (mutex, a) -> Answer.of(mutex.isAcquiredInThisProcess()));
    }

    static boolean acquire(InterProcessLock lock, long waitMs) throws Exception {
        if (waitMs >= 0) {
            return lock.acquire(waitMs, TimeUnit.MILLISECONDS);
        }
        lock.acquire();
        return true;
    }
}
