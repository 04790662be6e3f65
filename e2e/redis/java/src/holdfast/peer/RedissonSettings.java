package holdfast.peer;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.ShardedSubscriptionMode;
import org.redisson.config.SingleServerConfig;

/**
 * Redisson's configuration, from words {@code setting=value}. A setting that is not named keeps Redisson's default.
 * Exceptions are the number of threads and of idle connections, since many clients share a small machine.
 */
final class RedissonSettings {
    private static final int THREADS = 4;

    private final Map<String, String> given = new HashMap<>();

    private RedissonSettings(List<String> words) {
        for (String word : words) {
            int at = word.indexOf('=');
            given.put(word.substring(0, at), word.substring(at + 1));
        }
    }

    static Config of(List<String> words) {
        RedissonSettings settings = new RedissonSettings(words);
        Config config = settings.config();
        if (!settings.given.isEmpty()) {
            throw new IllegalArgumentException("no such settings: " + settings.given.keySet());
        }
        return config;
    }

    private Config config() {
        Config config = new Config();
        config.setThreads(THREADS);
        config.setNettyThreads(THREADS);
        take("lockWatchdogTimeoutMs", value -> config.setLockWatchdogTimeout(Long.parseLong(value)));
        take("lockWatchdogBatchSize", value -> config.setLockWatchdogBatchSize(Integer.parseInt(value)));
        take("fairLockWaitTimeoutMs", value -> config.setFairLockWaitTimeout(Long.parseLong(value)));
        take("checkLockSyncedSlaves", value -> config.setCheckLockSyncedSlaves(Boolean.parseBoolean(value)));
        take("slavesSyncTimeoutMs", value -> config.setSlavesSyncTimeout(Long.parseLong(value)));
        String mode = given.remove("mode");
        String[] addresses = given.remove("addresses").split(",");
        switch (mode) {
            case "single" -> single(config.useSingleServer(), addresses[0]);
            case "sentinel" -> sentinel(config.useSentinelServers(), addresses);
            case "cluster" -> cluster(config.useClusterServers(), addresses);
            default -> throw new IllegalArgumentException("no such mode: " + mode);
        }
        return config;
    }

    private void single(SingleServerConfig server, String address) {
        server.setAddress(address).setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        any(server);
    }

    private void sentinel(SentinelServersConfig servers, String[] addresses) {
        servers.addSentinelAddress(addresses);
        take("masterName", servers::setMasterName);
        take("scanIntervalMs", value -> servers.setScanInterval(Integer.parseInt(value)));
        several(servers);
    }

    private void cluster(ClusterServersConfig servers, String[] addresses) {
        servers.addNodeAddress(addresses);
        take("shardedSubscriptionMode", value ->
                servers.setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(value)));
        take("scanIntervalMs", value -> servers.setScanInterval(Integer.parseInt(value)));
        several(servers);
    }

    private void several(BaseMasterSlaveServersConfig<?> servers) {
        servers.setMasterConnectionMinimumIdleSize(1);
        servers.setSlaveConnectionMinimumIdleSize(1);
        servers.setSubscriptionConnectionMinimumIdleSize(1);
        // By default isLocked and similar calls ask a replica, which may not have yet what a test has just done.
        servers.setReadMode(ReadMode.MASTER);
        any(servers);
    }

    // Redisson 4 wants the name and the password in another place, which Redisson 3 does not know.
    @SuppressWarnings("deprecation")
    private void any(BaseConfig<?> server) {
        take("username", server::setUsername);
        take("password", server::setPassword);
        take("timeoutMs", value -> server.setTimeout(Integer.parseInt(value)));
        take("retryAttempts", value -> server.setRetryAttempts(Integer.parseInt(value)));
    }

    private void take(String setting, Consumer<String> use) {
        String value = given.remove(setting);
        if (value != null) {
            use.accept(value);
        }
    }
}
