package holdfast.peer;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;

/**
 * Takes the lock again and again and, while holding, adds one to a number in a file that nothing but the lock
 * protects: two holders at once lose an update. Each grant leaves a line {@code label czxid nodeName countBefore} in a
 * log shared by all contenders; since it is written while holding, its order is the order of the grants.
 */
final class Contender {
    private static final long GRANT_WITHIN_MS = 60_000;

    private Contender() {}

    static List<String> run(
            CuratorFramework client, String path, String counterFile, String logFile, int grants, String label)
            throws Exception {
        Path counter = Path.of(counterFile);
        Path log = Path.of(logFile);
        // Made on the thread that uses it: acquire and release both run here.
        PathMutex mutex = new PathMutex(client, path);
        for (int grant = 0; grant < grants; grant++) {
            if (!mutex.acquire(GRANT_WITHIN_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException(
                        label + ": no grant within " + GRANT_WITHIN_MS + " ms, after " + grant + " of " + grants);
            }
            try {
                List<String> node = mutex.heldNode();
                String name = node.get(0).substring(node.get(0).lastIndexOf('/') + 1);
                String text = Files.readString(counter);
                if (text.isEmpty()) {
                    throw new IllegalStateException(label + " found the counter half written: somebody else holds too");
                }
                long count = Long.parseLong(text);
                Files.writeString(
                        log, label + " " + node.get(1) + " " + name + " " + count + "\n", CREATE, APPEND);
                Files.writeString(counter, String.valueOf(count + 1));
            } finally {
                mutex.release();
            }
        }
        return List.of(String.valueOf(grants));
    }
}
