package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.framework.state.ConnectionState;

/** A {@link SharedCount}, whose listener sends the event {@code changed} with the new count. */
final class NamedSharedCount implements SharedCountListener {
    private final SharedCount count;
    private final Seen<Integer> seen = new Seen<>();
    private final Tell tell;

    private NamedSharedCount(CuratorFramework client, String path, int seed, Tell tell) {
        count = new SharedCount(client, path, seed);
        count.addListener(this);
        this.tell = tell;
    }

    static Recipe<NamedSharedCount> addTo(Commands commands) {
        // sharedCount.new <count> <client> <path> <seed>
        return new Recipe<NamedSharedCount>(commands, "sharedCount", (client, a, tell) ->
                new NamedSharedCount(client, a.get(0), Integer.parseInt(a.get(1)), tell))
                .verb("start", (count, a) -> {
                    count.count.start();
                    return List.of();
                })
                // -> number to hand to trySet, count, version of the node
                .verb("get", (count, a) -> {
                    VersionedValue<Integer> value = count.count.getVersionedValue();
                    return Answer.of(count.seen.keep(value), value.getValue(), value.getVersion());
                })
                // set <count>
                .verb("set", (count, a) -> {
                    count.count.setCount(Integer.parseInt(a.get(0)));
                    return List.of();
                })
                // trySet <number of a get> <count> -> whether it was still at that version
                .verb("trySet", (count, a) -> Answer.of(
                        count.count.trySetCount(count.seen.get(a.get(0)), Integer.parseInt(a.get(1)))))
                .verb("close", (count, a) -> {
                    count.count.close();
                    return List.of();
                });
    }

    SharedCountReader reader() {
        return count;
    }

    @Override
    public void countHasChanged(SharedCountReader reader, int newCount) {
        tell.say("changed", newCount);
    }

    @Override
    public void stateChanged(CuratorFramework client, ConnectionState state) {
        // The client reports its states itself.
    }
}
