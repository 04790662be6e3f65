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
import org.apache.curator.framework.recipes.locks.InterProcessMutex;

/**
 * A Curator process that is controlled over stdin and stdout, so that clients in another language can stand in one queue
 * with it.
 *
 * <pre>
 * in    id command argument...
 * out   id ok value...
 *       id error ExceptionClass message
 *       ! event value...
 * </pre>
 *
 * Commands run at the same time and answer when they are done, in any order. Only those that Curator ties to one thread
 * run one after the other. When stdin ends, the process halts at once, without closing its sessions: stdin ends when the
 * controlling process is gone, and then no test is left that needs a clean end. The command {@code close} is the orderly
 * way to end a session.
 */
public final class Peer {
    private static final Object outLock = new Object();
    // System.out is kept for the protocol; everything else that is printed goes to stderr.
    private static final PrintStream out = System.out;

    private Peer() {}

    public static void main(String[] arguments) throws Exception {
        System.setOut(System.err);
        Commands commands = new Commands(Peer::event);
        ExecutorService workers = Executors.newCachedThreadPool(Peer::daemon);
        event("started", List.of(curatorVersion()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = Line.split(line);
            String id = words.get(0);
            String command = words.get(1);
            List<String> values = words.subList(2, words.size());
            workers.execute(() -> answer(id, commands, command, values));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void answer(String id, Commands commands, String command, List<String> arguments) {
        List<String> line = new ArrayList<>(List.of(id));
        try {
            List<String> values = commands.run(command, arguments);
            line.add("ok");
            line.addAll(values);
        } catch (Throwable failure) {
            failure.printStackTrace();
            line.add("error");
            line.add(failure.getClass().getSimpleName());
            line.add(String.valueOf(failure.getMessage()));
        }
        print(line);
    }

    private static void event(String name, List<String> values) {
        List<String> line = new ArrayList<>(List.of("!", name));
        line.addAll(values);
        print(line);
    }

    private static void print(List<String> words) {
        synchronized (outLock) {
            out.println(Line.join(words));
            out.flush();
        }
    }

    private static String curatorVersion() throws IOException {
        Properties properties = new Properties();
        try (InputStream in = InterProcessMutex.class.getResourceAsStream(
                "/META-INF/maven/org.apache.curator/curator-recipes/pom.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    static Thread daemon(Runnable body) {
        Thread thread = new Thread(body);
        thread.setDaemon(true);
        return thread;
    }
}
