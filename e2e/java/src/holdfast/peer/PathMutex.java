package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/** Curator's mutex, which also gives the node it holds: the oldest Curator of the tests has the accessor protected. */
final class PathMutex extends InterProcessMutex {
    private final CuratorFramework client;

    PathMutex(CuratorFramework client, String path) {
        super(client, path);
        this.client = client;
    }

    /** Path and czxid of the held node. Only the thread that holds may call it. */
    List<String> heldNode() throws Exception {
        String path = getLockPath();
        return List.of(path, String.valueOf(client.checkExists().forPath(path).getCzxid()));
    }
}
