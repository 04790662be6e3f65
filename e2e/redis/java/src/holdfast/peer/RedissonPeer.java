package holdfast.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;

/**
 * A Redisson process that is steered over stdin and stdout, by the same protocol as the Curator peer.
 *
 * <pre>
 * in    id command argument...
 * out   id ok value...
 *       id error ExceptionClass message
 *       ! started version
 * </pre>
 *
 * Commands run at the same time, and each answers when it is done, in any order. Only commands that Redisson ties to
 * one thread run one after the other. When stdin ends, the process halts at once and releases no lock, as after a
 * crash. The command {@code close} is the orderly way to end a client.
 */
public final class RedissonPeer {
    private static final Object outLock = new Object();
    // System.out is kept for the protocol. All other output goes to stderr.
    private static final PrintStream out = System.out;

    private RedissonPeer() {}

    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err);
        RedissonCommands commands = new RedissonCommands();
        ExecutorService workers = Executors.newCachedThreadPool(NamedThreads::daemon);
        print(List.of("!", "started", redissonVersion()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = Line.split(line);
            workers.execute(() -> answer(commands, words.get(0), words.get(1), words.subList(2, words.size())));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void answer(RedissonCommands commands, String id, String command, List<String> arguments) {
        List<String> line = new ArrayList<>(List.of(id));
        try {
            List<String> values = commands.run(command, arguments);
            line.add("ok");
            line.addAll(values);
        } catch (Throwable failure) {
            failure.printStackTrace();
            line.add("error");
            line.add(failure.getClass().getSimpleName());
            // Redisson wraps the error of a failed future.
            Throwable cause = failure.getCause();
            line.add(failure.getMessage() + (cause == null ? "" : ", caused by " + cause));
        }
        print(line);
    }

    private static void print(List<String> words) {
        synchronized (outLock) {
            out.println(Line.join(words));
            out.flush();
        }
    }

    private static String redissonVersion() throws IOException {
        Properties properties = new Properties();
        try (InputStream in =
                Redisson.class.getResourceAsStream("/META-INF/maven/org.redisson/redisson/pom.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }
}
