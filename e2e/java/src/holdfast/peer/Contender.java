package holdfast.peer;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;

/**
 * Takes an exclusive lock again and again. While it holds, it adds one to a number in a file that only the lock protects:
 * two holders at once lose an update. Each grant leaves a line {@code label czxid nodeName countBefore} in a log that all
 * contenders share, with {@code -} for what is not known. The lines are written by the holder, so their order is the
 * order of the grants.
 */
final class Contender {
    private Contender() {}

    /** {@code recipe}: see {@link Turns#of}. */
    static List<String> run(
            String recipe, CuratorFramework client, String path, String counterFile, String logFile, int grants,
            String label) throws Exception {
        Path counter = Path.of(counterFile);
        Path log = Path.of(logFile);
        // Made on the thread that uses it: all acquires and releases run here.
        try (Turns turns = Turns.of(recipe, client, path, label)) {
            for (int grant = 0; grant < grants; grant++) {
                turns.next((node, czxid) -> {
                    String name = node == null ? "-" : node.substring(node.lastIndexOf('/') + 1);
                    String id = czxid == null ? "-" : czxid.toString();
                    String text = Files.readString(counter);
                    if (text.isEmpty()) {
                        throw new IllegalStateException(
                                label + " found the counter half written: somebody else holds too");
                    }
                    long count = Long.parseLong(text);
                    Files.writeString(log, label + " " + id + " " + name + " " + count + "\n", CREATE, APPEND);
                    Files.writeString(counter, String.valueOf(count + 1));
                });
            }
        }
        return Answer.of(grants);
    }
}
