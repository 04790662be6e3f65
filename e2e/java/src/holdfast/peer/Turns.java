package holdfast.peer;

import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;

/** One of Curator's exclusive recipes, for one client: takes the lock, runs the section, gives the lock back. */
interface Turns extends AutoCloseable {
    long GRANT_WITHIN_MS = 60_000;

    /** The work that must never run twice at the same time. */
    interface Section {
        /** Path and czxid of the node that stands for the grant; {@code null} where Curator does not give them. */
        void run(String path, Long czxid) throws Exception;
    }

    void next(Section section) throws Exception;

    @Override
    default void close() {}

    /** All calls must come from one thread: most locks belong to the thread that takes them. */
    static Turns of(String recipe, CuratorFramework client, String path, String label) {
        return switch (recipe) {
            case "mutex" -> mutex(client, path);
            case "semaphoreMutex" -> lock(new InterProcessSemaphoreMutex(client, path));
            case "write" -> lock(new InterProcessReadWriteLock(client, path).writeLock());
            case "multiLock" -> lock(new InterProcessMultiLock(client, List.of(path + "/a", path + "/b")));
            case "latch" -> section -> latch(client, path, label, section);
            case "selector" -> new Selector(client, path, label);
            default -> throw new IllegalArgumentException("nobody is alone by " + recipe);
        };
    }

    private static Turns mutex(CuratorFramework client, String path) {
        PathMutex mutex = new PathMutex(client, path);
        return section -> {
            granted(mutex.acquire(GRANT_WITHIN_MS, TimeUnit.MILLISECONDS));
            try {
                List<String> node = mutex.heldNode();
                section.run(node.get(0), Long.valueOf(node.get(1)));
            } finally {
                mutex.release();
            }
        };
    }

    private static Turns lock(InterProcessLock lock) {
        return section -> {
            granted(lock.acquire(GRANT_WITHIN_MS, TimeUnit.MILLISECONDS));
            try {
                section.run(null, null);
            } finally {
                lock.release();
            }
        };
    }

    private static void latch(CuratorFramework client, String path, String label, Section section) throws Exception {
        try (LeaderLatch latch = new LeaderLatch(client, path, label)) {
            latch.start();
            granted(latch.await(GRANT_WITHIN_MS, TimeUnit.MILLISECONDS));
            String node = latch.getOurPath();
            section.run(node, client.checkExists().forPath(node).getCzxid());
        }
    }

    private static void granted(boolean inTime) {
        if (!inTime) {
            throw new IllegalStateException("no grant within " + GRANT_WITHIN_MS + " ms");
        }
    }

    /** The section runs in the callback of a {@link LeaderSelector}, on its thread. The selector stands once for each turn. */
    final class Selector extends LeaderSelectorListenerAdapter implements Turns {
        private final LeaderSelector selector;
        private final Semaphore over = new Semaphore(0);
        private final AtomicReference<Exception> failure = new AtomicReference<>();
        private volatile Section section;
        private boolean started;

        private Selector(CuratorFramework client, String path, String label) {
            selector = new LeaderSelector(client, path, this);
            selector.setId(label);
        }

        @Override
        public void next(Section next) throws Exception {
            section = next;
            if (!started) {
                started = true;
                selector.start();
            } else {
                while (!selector.requeue()) {
                    // The callback has ended, but the selector has not given up its place yet.
                    Thread.sleep(1);
                }
            }
            granted(over.tryAcquire(GRANT_WITHIN_MS, TimeUnit.MILLISECONDS));
            if (failure.get() != null) {
                throw failure.get();
            }
        }

        @Override
        public void takeLeadership(CuratorFramework client) {
            try {
                section.run(null, null);
            } catch (Exception thrown) {
                failure.set(thrown);
            } finally {
                over.release();
            }
        }

        @Override
        public void close() {
            selector.close();
        }
    }
}
