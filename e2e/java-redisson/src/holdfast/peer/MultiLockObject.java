package holdfast.peer;

import org.redisson.api.RLock;

/** Plain locks on several names as one. It cannot tell whether it is held. */
final class MultiLockObject {
    private MultiLockObject() {}

    static void addTo(RedissonCommands commands) {
        // multiLock.new <lock> <client> <name>...
        LockObject.hold(new RedissonObjects<RLock>(commands, "multiLock", LockObject::several));
    }
}
