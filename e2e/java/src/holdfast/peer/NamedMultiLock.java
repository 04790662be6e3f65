package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;

/** Mutexes on several paths as one lock, on one thread. The limit of an acquire is that of each member, not of all. */
final class NamedMultiLock {
    private final InterProcessMultiLock lock;
    private final OwnThread thread = new OwnThread();

    private NamedMultiLock(CuratorFramework client, List<String> paths) {
        lock = new InterProcessMultiLock(client, List.copyOf(paths));
    }

    static void addTo(Commands commands) {
        // multiLock.new <lock> <client> <path>...
        new Recipe<NamedMultiLock>(commands, "multiLock", (client, a, tell) -> new NamedMultiLock(client, a))
                // acquire <waitMs, negative for ever> -> true or false
                .verb("acquire", (lock, a) -> lock.thread.run(() ->
                        Answer.of(NamedSemaphoreMutex.acquire(lock.lock, Long.parseLong(a.get(0))))))
                .verb("release", (lock, a) -> lock.thread.silently(lock.lock::release))
                // Whether Curator believes to hold all members.
                .verb("holding", (lock, a) -> lock.thread.run(() -> Answer.of(lock.lock.isAcquiredInThisProcess())));
    }
}
