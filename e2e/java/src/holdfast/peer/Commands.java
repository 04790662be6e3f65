package holdfast.peer;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.locks.Revoker;

/** What can be asked of a peer. Clients and locks go by names that the asker chooses. */
final class Commands {
    private interface Command {
        List<String> run(List<String> arguments) throws Exception;
    }

    private final Map<String, CuratorFramework> clients = new ConcurrentHashMap<>();
    private final Map<String, NamedMutex> mutexes = new ConcurrentHashMap<>();
    private final Map<String, NamedSemaphore> semaphores = new ConcurrentHashMap<>();
    private final Map<String, NamedReadWriteLock> readWriteLocks = new ConcurrentHashMap<>();
    private final Map<String, Command> commands;

    Commands(BiConsumer<String, List<String>> tell) {
        commands = Map.ofEntries(
                // connect <client> <connectString> <namespace> <sessionTimeoutMs> <digest>; empty = none
                Map.entry("connect", a -> {
                    CuratorFramework client = Clients.start(
                            a.get(1), a.get(2), Integer.parseInt(a.get(3)), a.get(4),
                            state -> tell.accept("state", List.of(a.get(0), state.name())));
                    clients.put(a.get(0), client);
                    return List.of();
                }),
                // session <client> -> session id and password, both in hex
                Map.entry("session", a -> Clients.session(client(a.get(0)))),
                // close <client>
                Map.entry("close", a -> {
                    client(a.get(0)).close();
                    clients.remove(a.get(0));
                    return List.of();
                }),
                // mutex <mutex> <client> <path>
                Map.entry("mutex", a -> {
                    NamedMutex mutex = new NamedMutex(client(a.get(1)), a.get(2));
                    mutexes.put(a.get(0), mutex);
                    return List.of();
                }),
                // acquire <mutex> <waitMs, negative for ever> -> true and node path and czxid, or false
                Map.entry("acquire", a -> mutex(a.get(0)).acquire(Long.parseLong(a.get(1)))),
                // release <mutex>
                Map.entry("release", a -> mutex(a.get(0)).release()),
                // holding <mutex>: what Curator itself believes
                Map.entry("holding", a -> List.of(String.valueOf(mutex(a.get(0)).holding()))),
                // makeRevocable <mutex>: for the next acquire; later the event "revoked <mutex>"
                Map.entry("makeRevocable", a -> {
                    mutex(a.get(0)).makeRevocable(() -> tell.accept("revoked", List.of(a.get(0))));
                    return List.of();
                }),
                // participants <mutex> -> node paths in Curator's order
                Map.entry("participants", a -> mutex(a.get(0)).participants()),
                // attemptRevoke <client> <node path>
                Map.entry("attemptRevoke", a -> {
                    Revoker.attemptRevoke(client(a.get(0)), a.get(1));
                    return List.of();
                }),
                // contend <client> <path> <counterFile> <logFile> <grants> <label>
                Map.entry("contend", a -> Contender.run(
                        client(a.get(0)), a.get(1), a.get(2), a.get(3), Integer.parseInt(a.get(4)), a.get(5))),
                // semaphore <semaphore> <client> <path> <maxLeases>
                Map.entry("semaphore", a -> {
                    semaphores.put(
                            a.get(0), new NamedSemaphore(client(a.get(1)), a.get(2), Integer.parseInt(a.get(3))));
                    return List.of();
                }),
                // takeLease <semaphore> <waitMs, negative for ever> -> true and node name, or false
                Map.entry("takeLease", a -> semaphore(a.get(0)).acquire(Long.parseLong(a.get(1)))),
                // returnLease <semaphore> <node name>
                Map.entry("returnLease", a -> semaphore(a.get(0)).release(a.get(1))),
                // leases <semaphore> -> node names
                Map.entry("leases", a -> semaphore(a.get(0)).participants()),
                // contendSemaphore <client> <path> <maxLeases> <folder> <grants> <label> -> most holders seen
                Map.entry("contendSemaphore", a -> SharingContender.semaphore(
                        client(a.get(0)), a.get(1), Integer.parseInt(a.get(2)), a.get(3),
                        Integer.parseInt(a.get(4)), a.get(5))),
                // readWriteLock <lock> <client> <path>
                Map.entry("readWriteLock", a -> {
                    readWriteLocks.put(a.get(0), new NamedReadWriteLock(client(a.get(1)), a.get(2)));
                    return List.of();
                }),
                // acquireHalf <lock> <read or write> <waitMs, negative for ever> -> true or false
                Map.entry("acquireHalf", a -> readWriteLock(a.get(0)).acquire(a.get(1), Long.parseLong(a.get(2)))),
                // releaseHalf <lock> <read or write>
                Map.entry("releaseHalf", a -> readWriteLock(a.get(0)).release(a.get(1))),
                // halves <lock> -> node paths
                Map.entry("halves", a -> readWriteLock(a.get(0)).participants()),
                // contendReadWrite <client> <path> <counterFile> <folder> <turns> <writeEvery> <label>
                //   -> how often it wrote, most readers seen
                Map.entry("contendReadWrite", a -> SharingContender.readWrite(
                        client(a.get(0)), a.get(1), a.get(2), a.get(3), Integer.parseInt(a.get(4)),
                        Integer.parseInt(a.get(5)), a.get(6))),
                // cache <cache> <client> <path>: later the event "cache <cache> type path data"
                Map.entry("cache", a -> {
                    CuratorCache cache = CuratorCache.build(client(a.get(1)), a.get(2));
                    cache.listenable().addListener((type, before, after) -> {
                        ChildData node = after == null ? before : after;
                        String data = new String(node.getData(), StandardCharsets.UTF_8);
                        tell.accept("cache", List.of(a.get(0), type.name(), node.getPath(), data));
                    });
                    cache.start();
                    return List.of();
                }),
                // watch <client> <data, exists, children or tree> <path>: later the event "watched <client> path type"
                Map.entry("watch", a -> {
                    PlainWatch.set(
                            client(a.get(0)).getZookeeperClient().getZooKeeper(), a.get(1), a.get(2),
                            event -> tell.accept("watched", List.of(a.get(0), event.getPath(), event.getType().name())));
                    return List.of();
                }),
                // put <client> <path> <data>: sets it, or creates it with its parents
                Map.entry("put", a -> {
                    byte[] data = a.get(2).getBytes(StandardCharsets.UTF_8);
                    client(a.get(0)).create().orSetData().creatingParentsIfNeeded().forPath(a.get(1), data);
                    return List.of();
                }),
                // delete <client> <path>
                Map.entry("delete", a -> {
                    client(a.get(0)).delete().forPath(a.get(1));
                    return List.of();
                }),
                // dump <client> <absolute path, not under the namespace> -> words of Tree
                Map.entry("dump", a -> Tree.dump(client(a.get(0)).getZookeeperClient().getZooKeeper(), a.get(1))));
    }

    List<String> run(String command, List<String> arguments) throws Exception {
        Command found = commands.get(command);
        if (found == null) {
            throw new IllegalArgumentException("no such command: " + command);
        }
        return found.run(arguments);
    }

    private CuratorFramework client(String name) {
        return known(clients, name, "client");
    }

    private NamedMutex mutex(String name) {
        return known(mutexes, name, "mutex");
    }

    private NamedSemaphore semaphore(String name) {
        return known(semaphores, name, "semaphore");
    }

    private NamedReadWriteLock readWriteLock(String name) {
        return known(readWriteLocks, name, "read-write lock");
    }

    private static <T> T known(Map<String, T> things, String name, String what) {
        T thing = things.get(name);
        if (thing == null) {
            throw new IllegalArgumentException("no " + what + " " + name);
        }
        return thing;
    }
}
