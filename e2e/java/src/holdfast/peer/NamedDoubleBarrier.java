package holdfast.peer;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** One member of a double barrier, which enters and leaves on a thread of its own. */
final class NamedDoubleBarrier {
    private final DistributedDoubleBarrier barrier;
    private final OwnThread thread = new OwnThread();

    private NamedDoubleBarrier(CuratorFramework client, String path, int members) {
        barrier = new DistributedDoubleBarrier(client, path, members);
    }

    static void addTo(Commands commands) {
        // doubleBarrier.new <member> <client> <path> <members>
        new Recipe<NamedDoubleBarrier>(commands, "doubleBarrier", (client, a, tell) ->
                new NamedDoubleBarrier(client, a.get(0), Integer.parseInt(a.get(1))))
                // enter, leave <waitMs, negative for ever> -> whether all members did so in time
                .verb("enter", (member, a) -> member.thread.run(() -> member.enter(Long.parseLong(a.get(0)))))
                .verb("leave", (member, a) -> member.thread.run(() -> member.leave(Long.parseLong(a.get(0)))));
    }

    private List<String> enter(long waitMs) throws Exception {
        if (waitMs >= 0) {
            return Answer.of(barrier.enter(waitMs, TimeUnit.MILLISECONDS));
        }
        barrier.enter();
        return Answer.of(true);
    }

    private List<String> leave(long waitMs) throws Exception {
        if (waitMs >= 0) {
            return Answer.of(barrier.leave(waitMs, TimeUnit.MILLISECONDS));
        }
        barrier.leave();
        return Answer.of(true);
    }
}
