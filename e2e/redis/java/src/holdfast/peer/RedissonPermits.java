package holdfast.peer;

import java.time.Duration;
import java.util.List;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** One of Redisson's two semaphores: takes some permits, runs the section, and gives them back. */
interface RedissonPermits {
    /**
     * The lease of each permit that has one. It is longer than any contender may take, so that no permit ends under
     * its holder.
     */
    long LEASE_MS = 120_000;

    interface Section {
        void run() throws Exception;
    }

    void next(int permits, Section section) throws Exception;

    static RedissonPermits of(String kind, RedissonClient client, String name) {
        return switch (kind) {
            case "semaphore" -> plain(client.getSemaphore(name));
            case "permitSemaphore" -> leased(client.getPermitExpirableSemaphore(name));
            default -> throw new IllegalArgumentException("no such semaphore: " + kind);
        };
    }

    private static RedissonPermits plain(RSemaphore semaphore) {
        return (permits, section) -> {
            RedissonTurns.granted(semaphore.tryAcquire(permits, Duration.ofMillis(RedissonTurns.GRANT_WITHIN_MS)));
            try {
                section.run();
            } finally {
                semaphore.release(permits);
            }
        };
    }

    private static RedissonPermits leased(RPermitExpirableSemaphore semaphore) {
        return (permits, section) -> {
            List<String> ids =
                    PermitSemaphoreObject.take(semaphore, permits, RedissonTurns.GRANT_WITHIN_MS, LEASE_MS);
            RedissonTurns.granted(!ids.isEmpty());
            try {
                section.run();
            } finally {
                semaphore.release(ids);
            }
        };
    }
}
