package holdfast.peer;

import java.time.Duration;
import org.redisson.api.RSemaphore;

/** A number of permits without owners: any thread gives back what any other took. */
final class SemaphoreObject {
    private SemaphoreObject() {}

    static void addTo(RedissonCommands commands) {
        // semaphore.new <semaphore> <client> <name>
        new RedissonObjects<RSemaphore>(commands, "semaphore", (client, a) -> client.getSemaphore(a.get(0)))
                // acquire <permits> <waitMs, negative for ever> -> true or false
                .verb("acquire", (semaphore, a) -> {
                    int permits = Integer.parseInt(a.get(0));
                    if (Words.number(a, 1) >= 0) {
                        return Words.of(semaphore.tryAcquire(permits, Duration.ofMillis(Words.number(a, 1))));
                    }
                    semaphore.acquire(permits);
                    return Words.of(true);
                })
                .verb("release", (semaphore, a) -> {
                    semaphore.release(Integer.parseInt(a.get(0)));
                    return Words.NONE;
                })
                // trySetPermits <permits> <timeToLiveMs, negative for none> -> whether no number was set before
                .verb("trySetPermits", (semaphore, a) -> {
                    int permits = Integer.parseInt(a.get(0));
                    return Words.of(
                            Words.number(a, 1) < 0
                                    ? semaphore.trySetPermits(permits)
                                    : semaphore.trySetPermits(permits, Duration.ofMillis(Words.number(a, 1))));
                })
                .verb("addPermits", (semaphore, a) -> {
                    semaphore.addPermits(Integer.parseInt(a.get(0)));
                    return Words.NONE;
                })
                .verb("drainPermits", (semaphore, a) -> Words.of(semaphore.drainPermits()))
                .verb("availablePermits", (semaphore, a) -> Words.of(semaphore.availablePermits()))
                .verb("delete", (semaphore, a) -> Words.of(semaphore.delete()));
    }
}
