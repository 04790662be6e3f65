package holdfast.peer;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.locks.Revoker;

/** Commands for single nodes and trees of them, which belong to no recipe. */
final class NodeCommands {
    private NodeCommands() {}

    static void addTo(Commands commands) {
        // put <client> <path> <data>: sets it, or creates it with its parents
        commands.add("put", a -> {
            byte[] data = a.get(2).getBytes(StandardCharsets.UTF_8);
            commands.client(a.get(0)).create().orSetData().creatingParentsIfNeeded().forPath(a.get(1), data);
            return List.of();
        });
        // delete <client> <path>
        commands.add("delete", a -> {
            commands.client(a.get(0)).delete().forPath(a.get(1));
            return List.of();
        });
        // dump <client> <absolute path, not under the namespace> -> words of Tree
        commands.add(
                "dump", a -> Tree.dump(commands.client(a.get(0)).getZookeeperClient().getZooKeeper(), a.get(1)));
        // attemptRevoke <client> <node path>
        commands.add("attemptRevoke", a -> {
            Revoker.attemptRevoke(commands.client(a.get(0)), a.get(1));
            return List.of();
        });
        // watch <client> <data, exists, children or tree> <path>: later the event "watched <client> path type"
        commands.add("watch", a -> {
            PlainWatch.set(
                    commands.client(a.get(0)).getZookeeperClient().getZooKeeper(), a.get(1), a.get(2),
                    event -> commands.tell("watched", List.of(a.get(0), event.getPath(), event.getType().name())));
            return List.of();
        });
        // cache.new <cache> <client> <path>: later the event "cache <cache> type path data"
        new Recipe<CuratorCache>(commands, "cache", (client, a, tell) -> {
            CuratorCache cache = CuratorCache.build(client, a.get(0));
            cache.listenable().addListener((type, before, after) -> {
                ChildData node = after == null ? before : after;
                tell.say(type.name(), node.getPath(), new String(node.getData(), StandardCharsets.UTF_8));
            });
            cache.start();
            return cache;
        });
    }
}
