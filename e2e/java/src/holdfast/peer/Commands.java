package holdfast.peer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import org.apache.curator.framework.CuratorFramework;

/** The commands of a peer. The tests choose the names of clients and of the objects of recipes. */
final class Commands {
    private final Map<String, Command> commands = new ConcurrentHashMap<>();
    private final Known<CuratorFramework> clients = new Known<>("client");
    private final BiConsumer<String, List<String>> tell;

    Commands(BiConsumer<String, List<String>> tell) {
        this.tell = tell;
        ClientCommands.addTo(this, clients);
        NodeCommands.addTo(this);
        ContentionCommands.addTo(this);
        NamedMutex.addTo(this);
        NamedReadWriteLock.addTo(this);
        NamedSemaphore.addTo(this, NamedSharedCount.addTo(this));
        NamedSemaphoreMutex.addTo(this);
        NamedMultiLock.addTo(this);
        NamedLatch.addTo(this);
        NamedSelector.addTo(this);
        NamedBarrier.addTo(this);
        NamedDoubleBarrier.addTo(this);
        NamedSharedValue.addTo(this);
        NamedAtomicLong.addTo(this);
        NamedGroupMember.addTo(this);
    }

    void add(String name, Command command) {
        if (commands.putIfAbsent(name, command) != null) {
            throw new IllegalStateException("two commands are called " + name);
        }
    }

    void tell(String event, List<String> values) {
        tell.accept(event, values);
    }

    CuratorFramework client(String name) {
        return clients.get(name);
    }

    List<String> run(String name, List<String> arguments) throws Exception {
        Command command = commands.get(name);
        if (command == null) {
            throw new IllegalArgumentException("no such command: " + name);
        }
        return command.run(arguments);
    }
}
