package holdfast.peer;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Contends for locks that several may hold at a time, and checks the other holders meanwhile. Stops at the first violation. */
final class SharingContender {
    private static final long GRANT_WITHIN_MS = 60_000;
    /**
     * Curator takes several leases one after the other, and keeps those that it has while it waits for more. Clients that do
     * so at the same time can wait for each other for ever. So they give up now and then, and not all at once.
     */
    private static final int SEVERAL_WITHIN_AT_MOST_MS = 200;
    /** Long enough for others to come in, if the lock lets them: acquiring takes several round trips, one client after the other. */
    private static final long LEASE_MS = 25;
    private static final long HOLD_MS = 2;

    private SharingContender() {}

    /** Takes one lease, then two, up to {@code mostAtOnce}, then one again. Answers the most leases that it has seen held. */
    static List<String> semaphore(
            CuratorFramework client, String path, int maxLeases, String folder, int grants, int mostAtOnce,
            String label) throws Exception {
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, maxLeases);
        int most = 0;
        for (int grant = 0; grant < grants; grant++) {
            int quantity = 1 + grant % mostAtOnce;
            Presence presence = new Presence(folder, label, quantity);
            Collection<Lease> leases = take(semaphore, quantity);
            if (leases == null) {
                throw new IllegalStateException(label + ": no lease in time, after " + grant + " of " + grants);
            }
            try {
                presence.enter();
                Thread.sleep(LEASE_MS);
                int held = presence.count("");
                if (held > maxLeases) {
                    throw new IllegalStateException(label + " sees " + held + " of " + maxLeases + " leases held");
                }
                most = Math.max(most, held);
                presence.leave();
            } finally {
                semaphore.returnAll(leases);
            }
        }
        return List.of(String.valueOf(most));
    }

    private static Collection<Lease> take(InterProcessSemaphoreV2 semaphore, int quantity) throws Exception {
        if (quantity == 1) {
            return semaphore.acquire(1, GRANT_WITHIN_MS, TimeUnit.MILLISECONDS);
        }
        long endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GRANT_WITHIN_MS);
        while (System.nanoTime() < endNanos) {
            int withinMs = 1 + ThreadLocalRandom.current().nextInt(SEVERAL_WITHIN_AT_MOST_MS);
            Collection<Lease> leases = semaphore.acquire(quantity, withinMs, TimeUnit.MILLISECONDS);
            if (leases != null) {
                return leases;
            }
        }
        return null;
    }

    /**
     * Takes the write lock at every {@code writeEvery}-th turn and adds one to the counter file; at the others it takes the
     * read lock. With {@code downgrade} it becomes a reader after each write and checks that there is no writer then.
     * Answers how often it wrote, and the most readers at a time that it has seen.
     */
    static List<String> readWrite(
            CuratorFramework client, String path, String counterFile, String folder, int turns, int writeEvery,
            boolean downgrade, String label) throws Exception {
        Path counter = Path.of(counterFile);
        InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
        Presence reader = new Presence(folder, "reader-" + label, 1);
        Presence writer = new Presence(folder, "writer-" + label, 1);
        int most = 0;
        int writes = 0;
        for (int turn = 0; turn < turns; turn++) {
            boolean writing = turn % writeEvery == writeEvery - 1;
            InterProcessMutex half = writing ? lock.writeLock() : lock.readLock();
            if (!half.acquire(GRANT_WITHIN_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException(label + ": no grant in time, after " + turn + " of " + turns);
            }
            try {
                Presence mine = writing ? writer : reader;
                mine.enter();
                long count = read(counter, label);
                if (writing) {
                    count++;
                    Files.writeString(counter, String.valueOf(count));
                    writes++;
                }
                most = Math.max(most, lookAround(reader, counter, count, label));
                mine.leave();
                if (writing && downgrade) {
                    lock.readLock().acquire();
                    lock.writeLock().release();
                    half = lock.readLock();
                    reader.enter();
                    most = Math.max(most, lookAround(reader, counter, count, label));
                    reader.leave();
                }
            } finally {
                half.release();
            }
        }
        return List.of(String.valueOf(writes), String.valueOf(most));
    }

    /** Checks the other holders and the counter. Answers the number of readers. */
    private static int lookAround(Presence presence, Path counter, long count, String label) throws Exception {
        Thread.sleep(HOLD_MS);
        int readers = presence.count("reader-");
        int writers = presence.count("writer-");
        if (writers > 1 || (writers == 1 && readers > 0)) {
            throw new IllegalStateException(label + " sees " + writers + " writers, " + readers + " readers");
        }
        long after = read(counter, label);
        if (after != count) {
            throw new IllegalStateException(label + ": the counter went from " + count + " to " + after);
        }
        return readers;
    }

    private static long read(Path counter, String label) throws Exception {
        String text = Files.readString(counter);
        if (text.isEmpty()) {
            throw new IllegalStateException(label + " found the counter half written: somebody writes beside it");
        }
        return Long.parseLong(text);
    }
}
