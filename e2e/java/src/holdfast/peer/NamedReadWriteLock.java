package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * Both halves of a read-write lock, {@code read} and {@code write}. Calls name the thread on which they run: a writer may
 * also take the read lock and become a reader, but only on the same thread.
 */
final class NamedReadWriteLock {
    private final PathReadWriteLock lock;
    private final OwnThread.Named threads = new OwnThread.Named();

    private NamedReadWriteLock(CuratorFramework client, String path, String data) {
        lock = PathReadWriteLock.on(client, path, data.isEmpty() ? null : Answer.bytes(data));
    }

    static void addTo(Commands commands) {
        // readWriteLock.new <lock> <client> <path> <data in hex, empty for the client's own>
        new Recipe<NamedReadWriteLock>(
                commands, "readWriteLock", (client, a, tell) -> new NamedReadWriteLock(client, a.get(0), a.get(1)))
                // acquire <half> <waitMs, negative for ever> <thread> -> true and node path and czxid, or false
                .verb("acquire", (lock, a) -> lock.acquire(a.get(0), Long.parseLong(a.get(1)), a.get(2)))
                // release <half> <thread>
                .verb("release", (lock, a) ->
                        lock.threads.get(a.get(1)).silently(() -> lock.lock.half(a.get(0)).release()))
                // holding <half> -> whether Curator believes that any thread holds it
                .verb("holding", (lock, a) -> Answer.of(lock.lock.half(a.get(0)).isAcquiredInThisProcess()))
                // participants <half> -> node paths of that half in Curator's order, waiters included
                .verb("participants", (lock, a) -> new ArrayList<>(lock.lock.half(a.get(0)).getParticipantNodes()));
    }

    private List<String> acquire(String half, long waitMs, String thread) throws Exception {
        InterProcessMutex mutex = lock.half(half);
        return threads.get(thread).run(() -> {
            if (waitMs < 0) {
                mutex.acquire();
            } else if (!mutex.acquire(waitMs, TimeUnit.MILLISECONDS)) {
                return List.of("false");
            }
            List<String> answer = new ArrayList<>(List.of("true"));
            answer.addAll(lock.heldNode(half));
            return answer;
        });
    }
}
