package holdfast.peer;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;

/** A barrier of Curator: its waiters go on when it is removed. */
final class NamedBarrier {
    private NamedBarrier() {}

    static void addTo(Commands commands) {
        // barrier.new <barrier> <client> <path>
        new Recipe<DistributedBarrier>(
                commands, "barrier", (client, a, tell) -> new DistributedBarrier(client, a.get(0)))
                .verb("set", (barrier, a) -> {
                    barrier.setBarrier();
                    return List.of();
                })
                .verb("remove", (barrier, a) -> {
                    barrier.removeBarrier();
                    return List.of();
                })
                // wait <waitMs, negative for ever> -> whether it was open in time
                .verb("wait", (barrier, a) -> Answer.of(passed(barrier, Long.parseLong(a.get(0)))));
    }

    private static boolean passed(DistributedBarrier barrier, long waitMs) throws Exception {
        if (waitMs >= 0) {
            return barrier.waitOnBarrier(waitMs, TimeUnit.MILLISECONDS);
        }
        barrier.waitOnBarrier();
        return true;
    }
}
