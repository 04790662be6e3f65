package holdfast.chaos;

import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.data.Stat;

/**
 * Apache Curator on the paths of holdfast: {@code InterProcessMutex}, and {@code InterProcessReadWriteLock} for shared keys.
 * The token is the czxid of the held node, as in holdfast. At {@code LOST} the loss of all holds is reported. At
 * {@code SUSPENDED} they are reported as uncertain, or as lost if the option {@code suspended} of the group is {@code lost}.
 */
final class CuratorWorker implements Locks {
    /** The root that holdfast uses for relative names. */
    private static final String ROOT = "/holdfast/";
    private static final int CONNECT_WITHIN_MS = 30_000;

    private final CuratorFramework client;
    /** A mutex belongs to its thread, so each thread has its own. */
    private final ThreadLocal<Map<String, Half>> halves = ThreadLocal.withInitial(HashMap::new);

    private CuratorWorker(CuratorFramework client) {
        this.client = client;
    }

    public static void main(String[] args) {
        Worker.run(CuratorWorker::open);
    }

    private static Locks open(Map<String, Object> setup, long leaseMs, BiConsumer<String, String> heard)
            throws Exception {
        String connect = (String) Json.object(setup.get("servers")).get("connect");
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(connect)
                .sessionTimeoutMs((int) leaseMs)
                .connectionTimeoutMs(CONNECT_WITHIN_MS)
                .retryPolicy(new RetryNTimes(100, 100))
                .build();
        // Curator's own page asks this of careful holders: after SUSPENDED it is not known who holds.
        Object options = Json.object(setup.get("group")).get("options");
        boolean suspendedIsLost = options != null && "lost".equals(Json.object(options).get("suspended"));
        client.getConnectionStateListenable().addListener((ignored, state) -> {
            switch (state) {
                case LOST:
                    heard.accept("lost", "LOST");
                    break;
                case SUSPENDED:
                    heard.accept(suspendedIsLost ? "lost" : "uncertain", "SUSPENDED");
                    break;
                case RECONNECTED:
                    heard.accept("recovered", "RECONNECTED");
                    break;
                default:
                    break;
            }
        });
        client.start();
        if (!client.blockUntilConnected(CONNECT_WITHIN_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("not connected to " + connect);
        }
        return new CuratorWorker(client);
    }

    @Override
    public Grant acquire(Key key, String mode, Long waitMs, String label) throws Exception {
        Half half = halves.get().computeIfAbsent(key.name + " " + mode, ignored -> half(key, mode));
        half.label(label);
        InterProcessMutex mutex = half.mutex();
        if (waitMs == null) {
            mutex.acquire();
        } else if (!mutex.acquire(waitMs, TimeUnit.MILLISECONDS)) {
            return null;
        }
        Stat stat = null;
        try {
            stat = client.checkExists().forPath(half.path());
        } finally {
            // If the session ended in this moment, nothing is held, and the answer to Curator must say so.
            if (stat == null) {
                mutex.release();
            }
        }
        if (stat == null) {
            throw new IllegalStateException("its node was gone when the grant came");
        }
        return new Granted(mutex, stat.getCzxid());
    }

    @Override
    public Map<String, Object> versions() {
        return Json.of("curator", InterProcessMutex.class.getPackage().getImplementationVersion());
    }

    @Override
    public void close() {
        client.close();
    }

    private Half half(Key key, String mode) {
        String path = ROOT + key.name;
        if (!key.shared()) {
            return new Plain(client, path);
        }
        // Both halves of a lock are made at once, because they know each other.
        Writing writing = new Writing(client, path);
        return mode.equals("write") ? writing : new Reading(client, path, writing);
    }

    private static final class Granted implements Grant {
        private final InterProcessMutex mutex;
        private final Long token;

        Granted(InterProcessMutex mutex, Long token) {
            this.mutex = mutex;
            this.token = token;
        }

        @Override
        public Long token() {
            return token;
        }

        @Override
        public void release() throws Exception {
            mutex.release();
        }
    }

    /** A lock of Curator's that also gives the path of the node it holds. Curator has that only as a protected method. */
    private interface Half {
        InterProcessMutex mutex();

        String path();

        /** Sets who asks next. That becomes the data of the node, as holdfast writes it with {@code identity}. */
        default void label(String label) {}
    }

    private static final class Plain extends InterProcessMutex implements Half {
        private String label = "";

        Plain(CuratorFramework client, String path) {
            super(client, path);
        }

        @Override
        public InterProcessMutex mutex() {
            return this;
        }

        @Override
        public String path() {
            return getLockPath();
        }

        @Override
        public void label(String label) {
            this.label = label;
        }

        @Override
        protected byte[] getLockNodeBytes() {
            String about = Json.text(Json.of("label", label, "host", "java", "pid", ProcessHandle.current().pid()));
            return (InetAddress.getLoopbackAddress().getHostAddress() + " " + about).getBytes(StandardCharsets.UTF_8);
        }
    }

    private static final class Writing extends InterProcessReadWriteLock.WriteLock implements Half {
        Writing(CuratorFramework client, String path) {
            super(client, path, null);
        }

        @Override
        public InterProcessMutex mutex() {
            return this;
        }

        @Override
        public String path() {
            return getLockPath();
        }
    }

    private static final class Reading extends InterProcessReadWriteLock.ReadLock implements Half {
        Reading(CuratorFramework client, String path, Writing writing) {
            super(client, path, null, writing);
        }

        @Override
        public InterProcessMutex mutex() {
            return this;
        }

        @Override
        public String path() {
            return getLockPath();
        }
    }
}
