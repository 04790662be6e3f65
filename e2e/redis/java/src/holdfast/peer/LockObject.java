package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The commands of everything that is an {@link RLock}. */
final class LockObject {
    private LockObject() {}

    static void addTo(RedissonCommands commands) {
        // lock.new <lock> <client> <plain | fair | spin | read | write> <name>
        all(new RedissonObjects<RLock>(commands, "lock", (client, a) -> of(client, a.get(0), a.get(1))));
    }

    static RLock of(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "plain" -> client.getLock(name);
            case "fair" -> client.getFairLock(name);
            case "spin" -> client.getSpinLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            default -> throw new IllegalArgumentException("no such lock: " + kind);
        };
    }

    /** The commands to take and to give back, which are all that a multi lock has. */
    static <T extends RLock> RedissonObjects<T> hold(RedissonObjects<T> locks) {
        return locks
                // lock <thread> <leaseMs, negative for the watchdog's>
                .onThread("lock", (lock, a) -> {
                    if (Words.number(a, 0) < 0) {
                        lock.lock();
                    } else {
                        lock.lock(Words.number(a, 0), TimeUnit.MILLISECONDS);
                    }
                    return Words.NONE;
                })
                // tryOnce <thread> -> true or false: the form without times, which never stands in a queue
                .onThread("tryOnce", (lock, a) -> Words.of(lock.tryLock()))
                // tryLock <thread> <waitMs> <leaseMs, negative for the watchdog's> -> true or false
                .onThread("tryLock", (lock, a) -> Words.of(
                        lock.tryLock(Words.number(a, 0), Words.number(a, 1), TimeUnit.MILLISECONDS)))
                .onThread("unlock", (lock, a) -> {
                    lock.unlock();
                    return Words.NONE;
                });
    }

    static <T extends RLock> RedissonObjects<T> all(RedissonObjects<T> locks) {
        return hold(locks)
                .onThread("isHeldByCurrentThread", (lock, a) -> Words.of(lock.isHeldByCurrentThread()))
                .onThread("holdCount", (lock, a) -> Words.of(lock.getHoldCount()))
                // -> the thread id, which is the second part of its owner
                .onThread("threadId", (lock, a) -> Words.of(Thread.currentThread().getId()))
                .verb("forceUnlock", (lock, a) -> Words.of(lock.forceUnlock()))
                .verb("isLocked", (lock, a) -> Words.of(lock.isLocked()))
                // -> ms, -2 when it is free, -1 when it is held without an end
                .verb("remainTimeToLive", (lock, a) -> Words.of(lock.remainTimeToLive()));
    }

    static RLock several(RedissonClient client, List<String> names) {
        List<RLock> members = new ArrayList<>();
        for (String name : names) {
            members.add(client.getLock(name));
        }
        return client.getMultiLock(members.toArray(new RLock[0]));
    }
}
