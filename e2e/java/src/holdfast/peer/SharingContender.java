package holdfast.peer;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** Contends for locks that several may hold at a time, and looks around while holding. Stops at the first violation. */
final class SharingContender {
    private static final long GRANT_WITHIN_MS = 60_000;
    /** Long enough for others to come in, if the lock lets them: acquiring takes several round trips, one client after the other. */
    private static final long LEASE_MS = 25;
    private static final long HOLD_MS = 2;

    private SharingContender() {}

    /** Answers the most holders at a time that it has seen. */
    static List<String> semaphore(
            CuratorFramework client, String path, int maxLeases, String folder, int grants, String label)
            throws Exception {
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, maxLeases);
        Presence presence = new Presence(folder, label);
        int most = 0;
        for (int grant = 0; grant < grants; grant++) {
            Lease lease = semaphore.acquire(GRANT_WITHIN_MS, TimeUnit.MILLISECONDS);
            if (lease == null) {
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
                lease.close();
            }
        }
        return List.of(String.valueOf(most));
    }

    /**
     * Takes the write lock at every {@code writeEvery}-th turn and adds one to the counter file, else the read lock.
     * Answers how often it wrote, and the most readers at a time that it has seen.
     */
    static List<String> readWrite(
            CuratorFramework client, String path, String counterFile, String folder, int turns, int writeEvery,
            String label) throws Exception {
        Path counter = Path.of(counterFile);
        InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
        Presence reader = new Presence(folder, "reader-" + label);
        Presence writer = new Presence(folder, "writer-" + label);
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
                long before = read(counter, label);
                if (writing) {
                    Files.writeString(counter, String.valueOf(before + 1));
                    writes++;
                }
                Thread.sleep(HOLD_MS);
                int readers = reader.count("reader-");
                int writers = reader.count("writer-");
                if (writers > 1 || (writers == 1 && readers > 0)) {
                    throw new IllegalStateException(label + " sees " + writers + " writers, " + readers + " readers");
                }
                most = Math.max(most, readers);
                long after = read(counter, label);
                if (after != (writing ? before + 1 : before)) {
                    throw new IllegalStateException(label + ": the counter went from " + before + " to " + after);
                }
                mine.leave();
            } finally {
                half.release();
            }
        }
        return List.of(String.valueOf(writes), String.valueOf(most));
    }

    private static long read(Path counter, String label) throws Exception {
        String text = Files.readString(counter);
        if (text.isEmpty()) {
            throw new IllegalStateException(label + " found the counter half written: somebody writes beside it");
        }
        return Long.parseLong(text);
    }
}
