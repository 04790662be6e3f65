package holdfast.chaos;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.redisson.Redisson;
// HostPortNatMapper is in the first of these packages in Redisson 3, and in the second in Redisson 4.
import org.redisson.api.*;
import org.redisson.config.*;

/**
 * Redisson on the keys of holdfast: {@code RFencedLock}, and {@code RReadWriteLock}, which has no tokens, for shared keys.
 * Its watchdog renews the holds. Holders are not notified of a loss.
 */
final class RedissonWorker implements Locks {
    private static final int THREADS = 2;
    /** A wait without limit is made of waits of this length: Redisson's wait can be interrupted only if it has a limit. */
    private static final long WAIT_MS = 1_000;

    private final RedissonClient client;

    private RedissonWorker(RedissonClient client) {
        this.client = client;
    }

    public static void main(String[] args) {
        Worker.run(RedissonWorker::open);
    }

    private static Locks open(Map<String, Object> setup, long leaseMs, BiConsumer<String, String> heard) {
        Config config = new Config();
        config.setThreads(THREADS);
        config.setNettyThreads(THREADS);
        config.setLockWatchdogTimeout(leaseMs);
        Map<String, Object> servers = Json.object(setup.get("servers"));
        if (servers.get("kind").equals("replicated")) {
            sentinels(config, servers);
        } else {
            config.useSingleServer()
                    .setAddress("redis://" + hostAndPort(servers.get("address")))
                    .setConnectionMinimumIdleSize(1)
                    .setSubscriptionConnectionMinimumIdleSize(1);
        }
        return new RedissonWorker(Redisson.create(config));
    }

    /** Connects by Sentinels. The addresses that they give lead through this worker's proxies, if it has some. */
    private static void sentinels(Config config, Map<String, Object> servers) {
        SentinelServersConfig all = config.useSentinelServers()
                .setMasterName((String) servers.get("masterName"))
                .setMasterConnectionMinimumIdleSize(1)
                .setSlaveConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1);
        for (Object sentinel : (List<?>) servers.get("sentinels")) {
            all.addSentinelAddress("redis://" + hostAndPort(sentinel));
        }
        if (servers.get("natMap") == null) {
            return;
        }
        Map<String, String> ways = new HashMap<>();
        Json.object(servers.get("natMap")).forEach((from, to) -> ways.put(from, hostAndPort(to)));
        HostPortNatMapper mapper = new HostPortNatMapper();
        mapper.setHostsPortMap(ways);
        all.setNatMapper(mapper);
    }

    private static String hostAndPort(Object address) {
        Map<String, Object> place = Json.object(address);
        return place.get("host") + ":" + place.get("port");
    }

    @Override
    public Grant acquire(Key key, String mode, Long waitMs, String label) throws Exception {
        if (!key.shared()) {
            RFencedLock lock = client.getFencedLock(key.name);
            Long token = null;
            do {
                interrupted();
                token = lock.tryLockAndGetToken(waitMs == null ? WAIT_MS : waitMs, -1, TimeUnit.MILLISECONDS);
            } while (token == null && waitMs == null);
            return token == null ? null : new Granted(lock, token);
        }
        RReadWriteLock both = client.getReadWriteLock(key.name);
        RLock lock = mode.equals("read") ? both.readLock() : both.writeLock();
        boolean granted;
        do {
            interrupted();
            granted = lock.tryLock(waitMs == null ? WAIT_MS : waitMs, -1, TimeUnit.MILLISECONDS);
        } while (!granted && waitMs == null);
        return granted ? new Granted(lock, null) : null;
    }

    @Override
    public Map<String, Object> versions() {
        return Json.of("redisson", Redisson.class.getPackage().getImplementationVersion());
    }

    @Override
    public void close() {
        client.shutdown(0, 2, TimeUnit.SECONDS);
    }

    private static void interrupted() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("the run is over");
        }
    }

    private static final class Granted implements Grant {
        private final RLock lock;
        private final Long token;

        Granted(RLock lock, Long token) {
            this.lock = lock;
            this.token = token;
        }

        @Override
        public Long token() {
            return token;
        }

        @Override
        public void release() {
            lock.unlock();
        }
    }
}
