package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Both halves on one thread, so that the writer may take the read lock, too, and become a reader. */
final class NamedReadWriteLock {
    private final InterProcessReadWriteLock lock;
    private final OwnThread thread = new OwnThread();

    NamedReadWriteLock(CuratorFramework client, String path) {
        lock = new InterProcessReadWriteLock(client, path);
    }

    /** {@code half} is "read" or "write"; a negative time waits for ever. */
    List<String> acquire(String half, long waitMs) throws Exception {
        return thread.run(() -> {
            if (waitMs < 0) {
                mutex(half).acquire();
                return List.of("true");
            }
            return List.of(String.valueOf(mutex(half).acquire(waitMs, TimeUnit.MILLISECONDS)));
        });
    }

    List<String> release(String half) throws Exception {
        return thread.run(() -> {
            mutex(half).release();
            return List.of();
        });
    }

    /** Node paths of readers and writers in Curator's order. */
    List<String> participants() throws Exception {
        List<String> nodes = new ArrayList<>(lock.readLock().getParticipantNodes());
        for (String node : lock.writeLock().getParticipantNodes()) {
            if (!nodes.contains(node)) {
                nodes.add(node);
            }
        }
        return nodes;
    }

    private InterProcessMutex mutex(String half) {
        return switch (half) {
            case "read" -> lock.readLock();
            case "write" -> lock.writeLock();
            default -> throw new IllegalArgumentException("neither read nor write: " + half);
        };
    }
}
