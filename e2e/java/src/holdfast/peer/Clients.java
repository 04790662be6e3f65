package holdfast.peer;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;

/** Curator clients as a service would make them, apart from a session time-out that tests choose. */
final class Clients {
    private static final int CONNECT_WITHIN_MS = 15_000;

    private Clients() {}

    static CuratorFramework start(
            String connectString, String namespace, int sessionTimeoutMs, String digest,
            Consumer<ConnectionState> onState) throws Exception {
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(connectString)
                .sessionTimeoutMs(sessionTimeoutMs)
                .connectionTimeoutMs(CONNECT_WITHIN_MS)
                .retryPolicy(new RetryNTimes(10, 100));
        if (!namespace.isEmpty()) {
            builder.namespace(namespace);
        }
        if (!digest.isEmpty()) {
            builder.authorization("digest", digest.getBytes(StandardCharsets.UTF_8));
            builder.aclProvider(new CreatorOnly());
        }
        CuratorFramework client = builder.build();
        client.getConnectionStateListenable().addListener((ignored, state) -> onState.accept(state));
        client.start();
        if (!client.blockUntilConnected(CONNECT_WITHIN_MS, TimeUnit.MILLISECONDS)) {
            client.close();
            throw new IllegalStateException("not connected to " + connectString + " within " + CONNECT_WITHIN_MS + " ms");
        }
        return client;
    }

    static List<String> session(CuratorFramework client) throws Exception {
        ZooKeeper zooKeeper = client.getZookeeperClient().getZooKeeper();
        return List.of(
                Long.toHexString(zooKeeper.getSessionId()),
                HexFormat.of().formatHex(zooKeeper.getSessionPasswd()));
    }

    private static final class CreatorOnly implements ACLProvider {
        @Override
        public List<ACL> getDefaultAcl() {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
        }

        @Override
        public List<ACL> getAclForPath(String path) {
            return ZooDefs.Ids.CREATOR_ALL_ACL;
        }
    }
}
