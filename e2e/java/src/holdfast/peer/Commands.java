package holdfast.peer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.Revoker;

/** What can be asked of a peer. Clients and mutexes go by names that the asker chooses. */
final class Commands {
    private interface Command {
        List<String> run(List<String> arguments) throws Exception;
    }

    private final Map<String, CuratorFramework> clients = new ConcurrentHashMap<>();
    private final Map<String, NamedMutex> mutexes = new ConcurrentHashMap<>();
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

    private static <T> T known(Map<String, T> things, String name, String what) {
        T thing = things.get(name);
        if (thing == null) {
            throw new IllegalArgumentException("no " + what + " " + name);
        }
        return thing;
    }
}
