package holdfast.peer;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** One of Redisson's exclusive locks: takes it, runs the section, and gives it back. */
interface RedissonTurns {
    long GRANT_WITHIN_MS = 60_000;

    /** Code that must never run twice at the same time. */
    interface Section {
        /** The token is {@code null} where the kind has none. */
        void run(Long token) throws Exception;
    }

    void next(Section section) throws Exception;

    /**
     * {@code kind}: one of a {@link LockObject}, {@code fenced}, or {@code multi} for the two locks {@code name:a}
     * and {@code name:b}.
     */
    static RedissonTurns of(String kind, RedissonClient client, String name, long leaseMs) {
        return switch (kind) {
            case "fenced" -> fenced(client.getFencedLock(name), leaseMs);
            case "multi" -> lock(LockObject.several(client, List.of(name + ":a", name + ":b")), leaseMs);
            default -> lock(LockObject.of(client, kind, name), leaseMs);
        };
    }

    private static RedissonTurns lock(RLock lock, long leaseMs) {
        return section -> {
            granted(lock.tryLock(GRANT_WITHIN_MS, leaseMs, TimeUnit.MILLISECONDS));
            try {
                section.run(null);
            } finally {
                lock.unlock();
            }
        };
    }

    private static RedissonTurns fenced(RFencedLock lock, long leaseMs) {
        return section -> {
            Long token = lock.tryLockAndGetToken(GRANT_WITHIN_MS, leaseMs, TimeUnit.MILLISECONDS);
            granted(token != null);
            try {
                section.run(token);
            } finally {
                lock.unlock();
            }
        };
    }

    static void granted(boolean inTime) {
        if (!inTime) {
            throw new IllegalStateException("no grant within " + GRANT_WITHIN_MS + " ms");
        }
    }
}
