package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;

/** A {@link LeaderLatch}, whose listener sends the events {@code leader} and {@code notLeader}. */
final class NamedLatch {
    private NamedLatch() {}

    static void addTo(Commands commands) {
        // latch.new <latch> <client> <path> <id>
        new Recipe<LeaderLatch>(commands, "latch", (client, a, tell) -> make(client, a.get(0), a.get(1), tell))
                .verb("start", (latch, a) -> {
                    latch.start();
                    return List.of();
                })
                .verb("hasLeadership", (latch, a) -> Answer.of(latch.hasLeadership()))
                // -> its node's path, or nothing while there is none
                .verb("ourPath", (latch, a) -> latch.getOurPath() == null ? List.of() : List.of(latch.getOurPath()))
                // -> id and whether it leads; an empty id and false while there is no candidate
                .verb("leader", (latch, a) -> Answer.participants(List.of(latch.getLeader())))
                .verb("participants", (latch, a) -> Answer.participants(latch.getParticipants()))
                // close <SILENT or NOTIFY_LEADER>: whether the listener is notified of the end of the leadership
                .verb("close", (latch, a) -> {
                    latch.close(LeaderLatch.CloseMode.valueOf(a.get(0)));
                    return List.of();
                });
    }

    private static LeaderLatch make(CuratorFramework client, String path, String id, Tell tell) {
        LeaderLatch latch = new LeaderLatch(client, path, id);
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                tell.say("leader");
            }

            @Override
            public void notLeader() {
                tell.say("notLeader");
            }
        });
        return latch;
    }
}
