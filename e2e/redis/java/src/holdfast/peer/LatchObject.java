package holdfast.peer;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;

/** A count. Its waiters go on when it is zero. */
final class LatchObject {
    private LatchObject() {}

    static void addTo(RedissonCommands commands) {
        // latch.new <latch> <client> <name>
        new RedissonObjects<RCountDownLatch>(commands, "latch", (client, a) -> client.getCountDownLatch(a.get(0)))
                // trySetCount <count> -> whether no count was set before
                .verb("trySetCount", (latch, a) -> Words.of(latch.trySetCount(Words.number(a, 0))))
                .verb("countDown", (latch, a) -> {
                    latch.countDown();
                    return Words.NONE;
                })
                .verb("count", (latch, a) -> Words.of(latch.getCount()))
                // await <waitMs, negative for ever> -> true or false
                .verb("await", (latch, a) -> {
                    if (Words.number(a, 0) >= 0) {
                        return Words.of(latch.await(Words.number(a, 0), TimeUnit.MILLISECONDS));
                    }
                    latch.await();
                    return Words.of(true);
                })
                .verb("delete", (latch, a) -> Words.of(latch.delete()));
    }
}
