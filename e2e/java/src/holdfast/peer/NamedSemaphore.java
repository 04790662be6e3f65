package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** A semaphore and the leases taken from it, each under the name of its node. Leases belong to no thread. */
final class NamedSemaphore {
    private final InterProcessSemaphoreV2 semaphore;
    private final Map<String, Lease> leases = new ConcurrentHashMap<>();

    NamedSemaphore(CuratorFramework client, String path, int maxLeases) {
        semaphore = new InterProcessSemaphoreV2(client, path, maxLeases);
    }

    /** Negative waits for ever. */
    List<String> acquire(long waitMs) throws Exception {
        Lease lease = waitMs < 0 ? semaphore.acquire() : semaphore.acquire(waitMs, TimeUnit.MILLISECONDS);
        if (lease == null) {
            return List.of("false");
        }
        leases.put(lease.getNodeName(), lease);
        return List.of("true", lease.getNodeName());
    }

    List<String> release(String nodeName) throws Exception {
        Lease lease = leases.remove(nodeName);
        if (lease == null) {
            throw new IllegalArgumentException("no lease " + nodeName);
        }
        lease.close();
        return List.of();
    }

    /** Node names of the leases, in no order. */
    List<String> participants() throws Exception {
        return new ArrayList<>(semaphore.getParticipantNodes());
    }
}
