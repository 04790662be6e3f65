package bench;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** {@code InterProcessMutex}, with a Curator client, and so a separate session, for each {@code Client}. */
final class CuratorPeer {
    private CuratorPeer() {}

    public static void main(String[] args) throws Exception {
        String version = Peer.versionOf(InterProcessMutex.class, "org.apache.curator/curator-recipes");
        Peer.serve("Curator", version, CuratorPeer::connect);
    }

    private static Client connect(String server) throws Exception {
        CuratorFramework curator =
                CuratorFrameworkFactory.newClient(server, 30_000, 15_000, new ExponentialBackoffRetry(100, 10));
        curator.start();
        if (!curator.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no session within 30 s");
        }
        return new Client() {
            @Override
            public Lock lock(String name) {
                InterProcessMutex mutex = new InterProcessMutex(curator, "/curator-" + name);
                return new Lock() {
                    @Override
                    public void acquire() throws Exception {
                        mutex.acquire();
                    }

                    @Override
                    public void release() throws Exception {
                        mutex.release();
                    }
                };
            }

            @Override
            public void close() {
                curator.close();
            }
        };
    }
}
