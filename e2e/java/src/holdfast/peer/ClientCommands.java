package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;

/** Sessions, one for each client. */
final class ClientCommands {
    private ClientCommands() {}

    static void addTo(Commands commands, Known<CuratorFramework> clients) {
        // connect <client> <connectString> <namespace> <sessionTimeoutMs> <digest>; empty = none.
        //   Later the event "state <client> state"
        commands.add("connect", a -> {
            CuratorFramework client = Clients.start(
                    a.get(1), a.get(2), Integer.parseInt(a.get(3)), a.get(4),
                    state -> commands.tell("state", List.of(a.get(0), state.name())));
            clients.put(a.get(0), client);
            return List.of();
        });
        // session <client> -> session id and password, both in hex
        commands.add("session", a -> Clients.session(clients.get(a.get(0))));
        // close <client>
        commands.add("close", a -> {
            clients.get(a.get(0)).close();
            clients.remove(a.get(0));
            return List.of();
        });
    }
}
