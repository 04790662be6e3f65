package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;

/** Curator's read-write lock, which also gives the nodes it holds: the oldest Curator of the tests has the accessor protected. */
final class PathReadWriteLock extends InterProcessReadWriteLock {
    private final CuratorFramework client;
    private final Reading reading;
    private final Writing writing;

    /** If {@code data} is {@code null}, the nodes get the client's default data. */
    static PathReadWriteLock on(CuratorFramework client, String path, byte[] data) {
        Writing writing = new Writing(client, path, data);
        return new PathReadWriteLock(client, writing, new Reading(client, path, data, writing));
    }

    private PathReadWriteLock(CuratorFramework client, Writing writing, Reading reading) {
        super(writing, reading);
        this.client = client;
        this.reading = reading;
        this.writing = writing;
    }

    InterProcessMutex half(String half) {
        return switch (half) {
            case "read" -> reading;
            case "write" -> writing;
            default -> throw new IllegalArgumentException("neither read nor write: " + half);
        };
    }

    /** Path and czxid of the held node. Only the thread that holds may call it. */
    List<String> heldNode(String half) throws Exception {
        String path = half.equals("read") ? reading.path() : writing.path();
        return Answer.of(path, client.checkExists().forPath(path).getCzxid());
    }

    private static final class Reading extends ReadLock {
        Reading(CuratorFramework client, String path, byte[] data, WriteLock writing) {
            super(client, path, data, writing);
        }

        String path() {
            return getLockPath();
        }
    }

    private static final class Writing extends WriteLock {
        Writing(CuratorFramework client, String path, byte[] data) {
            super(client, path, data);
        }

        String path() {
            return getLockPath();
        }
    }
}
