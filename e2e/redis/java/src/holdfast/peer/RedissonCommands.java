package holdfast.peer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;

/** The commands of a peer. The test chooses the names of clients and of their objects. */
final class RedissonCommands {
    private final Map<String, Command> commands = new ConcurrentHashMap<>();
    private final Known<RedissonClient> clients = new Known<>("client");
    private final NamedThreads threads = new NamedThreads();

    RedissonCommands() {
        // connect <client> <setting=value>...: see RedissonSettings -> client id, the first part of each owner
        add("connect", a -> {
            RedissonClient client = Redisson.create(RedissonSettings.of(a.subList(1, a.size())));
            clients.put(a.get(0), client);
            return Words.of(client.getId());
        });
        // close <client>: ends renewals and connections; what it holds stays until its lease is over
        add("close", a -> {
            clients.get(a.get(0)).shutdown(0, 2, TimeUnit.SECONDS);
            clients.remove(a.get(0));
            return Words.NONE;
        });
        LockObject.addTo(this);
        FencedLockObject.addTo(this);
        MultiLockObject.addTo(this);
        SemaphoreObject.addTo(this);
        PermitSemaphoreObject.addTo(this);
        LatchObject.addTo(this);
        RedissonContention.addTo(this);
    }

    void add(String name, Command command) {
        if (commands.putIfAbsent(name, command) != null) {
            throw new IllegalStateException("two commands are called " + name);
        }
    }

    RedissonClient client(String name) {
        return clients.get(name);
    }

    NamedThreads threads() {
        return threads;
    }

    List<String> run(String name, List<String> arguments) throws Exception {
        Command command = commands.get(name);
        if (command == null) {
            throw new IllegalArgumentException("no such command: " + name);
        }
        return command.run(arguments);
    }
}
