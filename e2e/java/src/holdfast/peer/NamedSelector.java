package holdfast.peer;

import java.util.List;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/**
 * A {@link LeaderSelector} whose callback leads until it is asked to resign or is interrupted. In each term it sends the
 * event {@code took}, and then {@code resigned} or {@code interrupted}.
 */
final class NamedSelector extends LeaderSelectorListenerAdapter {
    private static final long RESIGN_WITHIN_MS = 5_000;

    private final LeaderSelector selector;
    private final SynchronousQueue<Boolean> resignations = new SynchronousQueue<>();
    private final Tell tell;

    private NamedSelector(CuratorFramework client, String path, String id, boolean autoRequeue, Tell tell) {
        selector = new LeaderSelector(client, path, this);
        selector.setId(id);
        if (autoRequeue) {
            selector.autoRequeue();
        }
        this.tell = tell;
    }

    static void addTo(Commands commands) {
        // selector.new <selector> <client> <path> <id> <autoRequeue>
        new Recipe<NamedSelector>(commands, "selector", (client, a, tell) ->
                new NamedSelector(client, a.get(0), a.get(1), Boolean.parseBoolean(a.get(2)), tell))
                .verb("start", (selector, a) -> {
                    selector.selector.start();
                    return List.of();
                })
                // -> whether it queued again; false if it was in the queue already
                .verb("requeue", (selector, a) -> Answer.of(selector.selector.requeue()))
                .verb("hasLeadership", (selector, a) -> Answer.of(selector.selector.hasLeadership()))
                // -> id and whether it leads; an empty id and false while there is no candidate
                .verb("leader", (selector, a) -> Answer.participants(List.of(selector.selector.getLeader())))
                .verb("participants", (selector, a) -> Answer.participants(selector.selector.getParticipants()))
                .verb("resign", (selector, a) -> selector.resign())
                .verb("interrupt", (selector, a) -> {
                    selector.selector.interruptLeadership();
                    return List.of();
                })
                .verb("close", (selector, a) -> {
                    selector.selector.close();
                    return List.of();
                });
    }

    @Override
    public void takeLeadership(CuratorFramework client) throws Exception {
        tell.say("took");
        try {
            resignations.take();
            tell.say("resigned");
        } catch (InterruptedException interrupted) {
            tell.say("interrupted");
            throw interrupted;
        }
    }

    private List<String> resign() throws InterruptedException {
        if (!resignations.offer(true, RESIGN_WITHIN_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("does not lead, for " + RESIGN_WITHIN_MS + " ms");
        }
        return List.of();
    }
}
