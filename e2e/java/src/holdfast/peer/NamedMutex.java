package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;

/** A mutex that is always entered and left on one thread of its own. */
final class NamedMutex {
    private final PathMutex mutex;
    private final OwnThread thread = new OwnThread();

    NamedMutex(CuratorFramework client, String path) {
        mutex = new PathMutex(client, path);
    }

    /** Negative waits for ever. */
    List<String> acquire(long waitMs) throws Exception {
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

    List<String> release() throws Exception {
        return thread.run(() -> {
            mutex.release();
            return List.of();
        });
    }

    /** What Curator believes; it is not told when the session ends. */
    boolean holding() {
        return mutex.isAcquiredInThisProcess();
    }

    List<String> participants() throws Exception {
        return new ArrayList<>(mutex.getParticipantNodes());
    }

    /** For the next acquire only: Curator forgets the listener at the release. */
    void makeRevocable(Runnable onRevoke) {
        mutex.makeRevocable(ignored -> onRevoke.run());
    }
}
