package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;

/** A mutex that is always entered and left on one thread of its own. */
final class NamedMutex {
    private final PathMutex mutex;
    private final OwnThread thread = new OwnThread();
    private final Tell tell;

    private NamedMutex(CuratorFramework client, String path, Tell tell) {
        mutex = new PathMutex(client, path);
        this.tell = tell;
    }

    static void addTo(Commands commands) {
        // mutex.new <mutex> <client> <path>
        new Recipe<NamedMutex>(commands, "mutex", (client, a, tell) -> new NamedMutex(client, a.get(0), tell))
                // acquire <waitMs, negative for ever> -> true and node path and czxid, or false
                .verb("acquire", (mutex, a) -> mutex.acquire(Long.parseLong(a.get(0))))
                .verb("release", (mutex, a) -> mutex.thread.silently(mutex.mutex::release))
                // Whether Curator believes to hold it; Curator does so even after the end of the session.
                .verb("holding", (mutex, a) -> Answer.of(mutex.mutex.isAcquiredInThisProcess()))
                // -> node paths in Curator's order
                .verb("participants", (mutex, a) -> new ArrayList<>(mutex.mutex.getParticipantNodes()))
                // For the next acquire only, because Curator forgets the listener at the release. Later the event "revoked".
                .verb("makeRevocable", (mutex, a) -> {
                    mutex.mutex.makeRevocable(ignored -> mutex.tell.say("revoked"));
                    return List.of();
                });
    }

    private List<String> acquire(long waitMs) throws Exception {
        return thread.run(() -> {
            if (waitMs < 0) {
                mutex.acquire();
            } else if (!mutex.acquire(waitMs, TimeUnit.MILLISECONDS)) {
                return List.of("false");
            }
            List<String> answer = new ArrayList<>(List.of("true"));
            answer.addAll(mutex.heldNode());
            return answer;
        });
    }
}
