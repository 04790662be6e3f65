package holdfast.peer;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;

/** A lock that counts its grants. */
final class FencedLockObject {
    private FencedLockObject() {}

    static void addTo(RedissonCommands commands) {
        // fencedLock.new <lock> <client> <name>
        LockObject.all(new RedissonObjects<RFencedLock>(
                        commands, "fencedLock", (client, a) -> client.getFencedLock(a.get(0))))
                // lockAndGetToken <thread> -> token. The form with a lease is left out, since Redisson ignores that
                // lease.
                .onThread("lockAndGetToken", (lock, a) -> Words.of(lock.lockAndGetToken()))
                // tryLockAndGetToken <thread> <waitMs> <leaseMs, negative for the watchdog's> -> token, or nothing
                .onThread("tryLockAndGetToken", (lock, a) -> {
                    Long token =
                            lock.tryLockAndGetToken(Words.number(a, 0), Words.number(a, 1), TimeUnit.MILLISECONDS);
                    return token == null ? Words.NONE : Words.of(token);
                })
                // -> the last token that any client was given, 0 before the first
                .verb("token", (lock, a) -> Words.of(lock.getToken()));
    }
}
