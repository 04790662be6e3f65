package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;

/** Several plain locks as one. It cannot tell whether it is held. */
final class MultiLockObject {
    private MultiLockObject() {}

    static void addTo(RedissonCommands commands) {
        // multiLock.new <lock> <client> <name>...
        LockObject.hold(new RedissonObjects<RLock>(commands, "multiLock", LockObject::several));
        // redLock.new <lock> <client> <name> <client>...: the lock of one name at several servers, a majority of which is enough
        LockObject.hold(new RedissonObjects<RLock>(commands, "redLock", (client, a) -> {
            List<RLock> members = new ArrayList<>(List.of(client.getLock(a.get(0))));
            for (String other : a.subList(1, a.size())) {
                members.add(commands.client(other).getLock(a.get(0)));
            }
            return majority(members);
        }));
    }

    @SuppressWarnings("deprecation")
    private static RLock majority(List<RLock> members) {
        return new RedissonRedLock(members.toArray(new RLock[0]));
    }
}
