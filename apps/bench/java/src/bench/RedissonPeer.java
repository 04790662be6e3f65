package bench;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * {@code RLock}, with a Redisson client and separate connections for each {@code Client}. All clients share their threads, of
 * which each would have dozens by default. Each keeps one idle connection instead of 24.
 */
final class RedissonPeer {
    private static final EventLoopGroup LOOPS = new MultiThreadIoEventLoopGroup(4, NioIoHandler.newFactory());
    private static final ExecutorService EXECUTOR = Executors.newFixedThreadPool(4);

    private RedissonPeer() {}

    public static void main(String[] args) throws Exception {
        Peer.serve("Redisson", Peer.versionOf(Redisson.class, "org.redisson/redisson"), RedissonPeer::connect);
    }

    private static Client connect(String server) {
        Config config = new Config();
        config.setEventLoopGroup(LOOPS);
        config.setExecutor(EXECUTOR);
        config.useSingleServer().setAddress("redis://" + server).setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1);
        RedissonClient redisson = Redisson.create(config);
        return new Client() {
            @Override
            public Lock lock(String name) {
                RLock lock = redisson.getLock("redisson-" + name);
                return new Lock() {
                    @Override
                    public void acquire() {
                        lock.lock();
                    }

                    @Override
                    public void release() {
                        lock.unlock();
                    }
                };
            }

            @Override
            public void close() {
                redisson.shutdown();
            }
        };
    }
}
