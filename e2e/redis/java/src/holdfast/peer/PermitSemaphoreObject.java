package holdfast.peer;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;

/** Permits with an id and a lease each. */
final class PermitSemaphoreObject {
    private PermitSemaphoreObject() {}

    static void addTo(RedissonCommands commands) {
        // permitSemaphore.new <semaphore> <client> <name>
        new RedissonObjects<RPermitExpirableSemaphore>(
                        commands, "permitSemaphore", (client, a) -> client.getPermitExpirableSemaphore(a.get(0)))
                // acquire <permits> <waitMs, negative for ever> <leaseMs, negative for no end> -> ids, or nothing
                .verb("acquire", (semaphore, a) -> take(
                        semaphore, Integer.parseInt(a.get(0)), Words.number(a, 1), Words.number(a, 2)))
                // release <id>...: all, or an IllegalArgumentException
                .verb("release", (semaphore, a) -> {
                    if (a.size() == 1) {
                        semaphore.release(a.get(0));
                    } else {
                        semaphore.release(a);
                    }
                    return Words.NONE;
                })
                // tryRelease <id>... -> how many were released
                .verb("tryRelease", (semaphore, a) -> Words.of(
                        a.size() == 1 ? (semaphore.tryRelease(a.get(0)) ? 1 : 0) : semaphore.tryRelease(a)))
                // updateLeaseTime <id> <leaseMs> -> whether it was still held
                .verb("updateLeaseTime", (semaphore, a) -> Words.of(
                        semaphore.updateLeaseTime(a.get(0), Words.number(a, 1), TimeUnit.MILLISECONDS)))
                // leaseTime <id> -> ms that remain
                .verb("leaseTime", (semaphore, a) -> Words.of(semaphore.getLeaseTime(a.get(0))))
                .verb("trySetPermits", (semaphore, a) -> Words.of(semaphore.trySetPermits(Integer.parseInt(a.get(0)))))
                .verb("setPermits", (semaphore, a) -> {
                    semaphore.setPermits(Integer.parseInt(a.get(0)));
                    return Words.NONE;
                })
                .verb("addPermits", (semaphore, a) -> {
                    semaphore.addPermits(Integer.parseInt(a.get(0)));
                    return Words.NONE;
                })
                // -> free, taken, and both together
                .verb("permits", (semaphore, a) -> Words.of(
                        semaphore.availablePermits(), semaphore.acquiredPermits(), semaphore.getPermits()))
                .verb("delete", (semaphore, a) -> Words.of(semaphore.delete()));
    }

    static List<String> take(RPermitExpirableSemaphore semaphore, int permits, long waitMs, long leaseMs)
            throws InterruptedException {
        List<String> ids;
        if (waitMs >= 0) {
            ids = semaphore.tryAcquire(permits, waitMs, leaseMs, TimeUnit.MILLISECONDS);
        } else if (leaseMs >= 0) {
            ids = semaphore.acquire(permits, leaseMs, TimeUnit.MILLISECONDS);
        } else {
            ids = semaphore.acquire(permits);
        }
        return ids == null ? Words.NONE : ids;
    }
}
