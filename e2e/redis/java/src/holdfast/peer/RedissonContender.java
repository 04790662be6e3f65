package holdfast.peer;

import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Takes an exclusive lock again and again. While it holds, it adds one to a number in a file that nothing but the lock
 * protects: two holders at once lose an update. Each grant leaves a line {@code label token - countBefore} in a log
 * that all contenders share; a kind without tokens writes {@code -} as its token. The line is written while holding, so
 * the order of the lines is the order of the grants.
 */
final class RedissonContender {
    private final RedissonTurns turns;
    private final Path counter;
    private final Path log;
    private final long holdMs;
    private final String label;
    private long askedNanos;
    private long longestNanos;

    RedissonContender(RedissonTurns turns, String counterFile, String logFile, long holdMs, String label) {
        this.turns = turns;
        counter = Path.of(counterFile);
        log = Path.of(logFile);
        this.holdMs = holdMs;
        this.label = label;
    }

    /**
     * Runs until it has had {@code grants} grants or {@code forMs} are over, whichever comes first. Answers how many
     * grants it had, and its longest wait for one in milliseconds.
     */
    List<String> run(int grants, long forMs) throws Exception {
        long startedNanos = System.nanoTime();
        int had = 0;
        while (had < grants && System.nanoTime() - startedNanos < TimeUnit.MILLISECONDS.toNanos(forMs)) {
            askedNanos = System.nanoTime();
            turns.next(this::count);
            had++;
        }
        return Words.of(had, TimeUnit.NANOSECONDS.toMillis(longestNanos));
    }

    private void count(Long token) throws Exception {
        longestNanos = Math.max(longestNanos, System.nanoTime() - askedNanos);
        long before = read(counter, label);
        if (holdMs > 0) {
            Thread.sleep(holdMs);
        }
        String line = label + " " + (token == null ? "-" : token) + " - " + before + "\n";
        Files.writeString(log, line, CREATE, APPEND);
        Files.writeString(counter, String.valueOf(before + 1));
    }

    static long read(Path counter, String label) throws Exception {
        String text = Files.readString(counter);
        if (text.isEmpty()) {
            throw new IllegalStateException(label + " found the counter half written: somebody else holds too");
        }
        return Long.parseLong(text);
    }
}
