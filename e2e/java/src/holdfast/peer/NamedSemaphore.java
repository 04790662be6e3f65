package holdfast.peer;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** A semaphore and the leases taken from it, each under the name of its node. Leases belong to no thread. */
final class NamedSemaphore {
    private final InterProcessSemaphoreV2 semaphore;
    private final Map<String, Lease> leases = new ConcurrentHashMap<>();

    private NamedSemaphore(InterProcessSemaphoreV2 semaphore) {
        this.semaphore = semaphore;
    }

    static void addTo(Commands commands, Recipe<NamedSharedCount> counts) {
        // semaphore.new <semaphore> <client> <path> <limit: a number, or the name of a sharedCount>
        new Recipe<NamedSemaphore>(commands, "semaphore", (client, a, tell) -> {
            String limit = a.get(1);
            return new NamedSemaphore(
                    limit.matches("\\d+")
                            ? new InterProcessSemaphoreV2(client, a.get(0), Integer.parseInt(limit))
                            : new InterProcessSemaphoreV2(client, a.get(0), counts.get(limit).reader()));
        })
                // acquire <quantity> <waitMs, negative for ever> -> true and node names, or false
                .verb("acquire", (semaphore, a) ->
                        semaphore.acquire(Integer.parseInt(a.get(0)), Long.parseLong(a.get(1))))
                // release <node name>...
                .verb("release", NamedSemaphore::release)
                // setNodeData <data in hex>: the data of later leases
                .verb("setNodeData", (semaphore, a) -> {
                    semaphore.semaphore.setNodeData(Answer.bytes(a.get(0)));
                    return List.of();
                })
                // -> node names of the leases, in no order, with the one of the first in the queue
                .verb("participants", (semaphore, a) -> new ArrayList<>(semaphore.semaphore.getParticipantNodes()));
    }

    private List<String> acquire(int quantity, long waitMs) throws Exception {
        Collection<Lease> taken = waitMs < 0
                ? semaphore.acquire(quantity)
                : semaphore.acquire(quantity, waitMs, TimeUnit.MILLISECONDS);
        if (taken == null) {
            return List.of("false");
        }
        List<String> answer = new ArrayList<>(List.of("true"));
        for (Lease lease : taken) {
            leases.put(lease.getNodeName(), lease);
            answer.add(lease.getNodeName());
        }
        return answer;
    }

    private List<String> release(List<String> nodeNames) {
        List<Lease> given = new ArrayList<>();
        for (String nodeName : nodeNames) {
            Lease lease = leases.remove(nodeName);
            if (lease == null) {
                throw new IllegalArgumentException("no lease " + nodeName);
            }
            given.add(lease);
        }
        semaphore.returnAll(given);
        return List.of();
    }
}
