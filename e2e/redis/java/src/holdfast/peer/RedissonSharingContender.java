package holdfast.peer;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;

/**
 * Contends for locks that several clients may hold at a time, and looks while holding who else holds. Stops at the
 * first violation.
 */
final class RedissonSharingContender {
    /** Long enough for other holders to come in, if the lock lets them. */
    private static final long PERMIT_MS = 10;
    private static final long HOLD_MS = 2;

    private RedissonSharingContender() {}

    /**
     * Takes one permit, then two, up to {@code mostAtOnce}, and then one again. Answers the most permits that it has
     * seen taken.
     */
    static List<String> semaphore(
            RedissonPermits permits, int limit, String folder, int grants, int mostAtOnce, String label)
            throws Exception {
        AtomicInteger most = new AtomicInteger();
        for (int grant = 0; grant < grants; grant++) {
            int quantity = 1 + grant % mostAtOnce;
            Presence presence = new Presence(folder, label, quantity);
            permits.next(quantity, () -> {
                presence.enter();
                Thread.sleep(PERMIT_MS);
                int taken = presence.count("");
                if (taken > limit) {
                    throw new IllegalStateException(label + " sees " + taken + " of " + limit + " permits taken");
                }
                most.accumulateAndGet(taken, Math::max);
                presence.leave();
            });
        }
        return Words.of(most);
    }

    /**
     * Takes the write lock at every {@code writeEvery}-th turn and adds one to the counter file. At the other turns it
     * takes the read lock. With {@code downgrade} it becomes a reader after each write and checks that there is no
     * writer then. Answers how often it wrote, and the most readers at a time that it has seen.
     */
    static List<String> readWrite(
            RReadWriteLock lock, String counterFile, String folder, int turns, int writeEvery, boolean downgrade,
            String label) throws Exception {
        Path counter = Path.of(counterFile);
        Presence reader = new Presence(folder, "reader-" + label, 1);
        Presence writer = new Presence(folder, "writer-" + label, 1);
        int most = 0;
        int writes = 0;
        for (int turn = 0; turn < turns; turn++) {
            boolean writing = turn % writeEvery == writeEvery - 1;
            RLock half = writing ? lock.writeLock() : lock.readLock();
            RedissonTurns.granted(half.tryLock(RedissonTurns.GRANT_WITHIN_MS, -1, TimeUnit.MILLISECONDS));
            try {
                Presence mine = writing ? writer : reader;
                mine.enter();
                long count = RedissonContender.read(counter, label);
                if (writing) {
                    count++;
                    Files.writeString(counter, String.valueOf(count));
                    writes++;
                }
                most = Math.max(most, lookAround(reader, counter, count, label));
                mine.leave();
                if (writing && downgrade) {
                    lock.readLock().lock();
                    lock.writeLock().unlock();
                    half = lock.readLock();
                    reader.enter();
                    most = Math.max(most, lookAround(reader, counter, count, label));
                    reader.leave();
                }
            } finally {
                half.unlock();
            }
        }
        return Words.of(writes, most);
    }

    /** Answers how many readers there are. */
    private static int lookAround(Presence presence, Path counter, long count, String label) throws Exception {
        Thread.sleep(HOLD_MS);
        int readers = presence.count("reader-");
        int writers = presence.count("writer-");
        if (writers > 1 || (writers == 1 && readers > 0)) {
            throw new IllegalStateException(label + " sees " + writers + " writers, " + readers + " readers");
        }
        long after = RedissonContender.read(counter, label);
        if (after != count) {
            throw new IllegalStateException(label + ": the counter went from " + count + " to " + after);
        }
        return readers;
    }
}
