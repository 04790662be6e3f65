package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A peer in its own process. Its protocol is in {@code protocol.ts}. */
final class Peer {
    private static final Pattern MEMBER = Pattern.compile("\"(\\w+)\":\"?([^\",}]*)");

    private Peer() {}

    /** Serves requests until standard input ends. */
    static void serve(String library, String version, Client.Connector connector) throws IOException {
        // Everything else that is printed goes to stderr.
        PrintStream out = System.out;
        System.setOut(System.err);
        out.println("{\"ready\":{\"" + library + "\":\"" + version + "\",\"Java\":\""
                + System.getProperty("java.version") + "\"}}");
        Turns turns = new Turns(List.of());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, String> request = members(line);
            try {
                String answer = "{}";
                switch (request.get("do")) {
                    case "connect" -> {
                        List<Client> clients = new ArrayList<>();
                        turns = new Turns(clients);
                        for (int i = 0; i < number(request, "clients"); i++) {
                            clients.add(connector.connect(request.get("server")));
                        }
                    }
                    case "loop" -> answer = turns.loop(request.get("name"), number(request, "owners"),
                            number(request, "locks"), number(request, "forMs"));
                    case "queue" -> turns.queue(request.get("name"), number(request, "owners"));
                    case "drain" -> answer = turns.drain();
                    case "close" -> turns.close();
                    default -> throw new IllegalArgumentException("no such request: " + line);
                }
                out.println("{\"ok\":" + answer + "}");
            } catch (Exception failure) {
                failure.printStackTrace();
                String text = failure.toString().replaceAll("[^ -~]|[\"\\\\]", "'");
                out.println("{\"error\":\"" + text + "\"}");
            }
        }
        // Threads of the library may still be running.
        Runtime.getRuntime().halt(0);
    }

    /** The version in the jar of one of the library's classes. */
    static String versionOf(Class<?> type, String artifact) throws IOException {
        Properties properties = new Properties();
        try (InputStream in = type.getResourceAsStream("/META-INF/maven/" + artifact + "/pom.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }

    private static Map<String, String> members(String line) {
        Map<String, String> found = new HashMap<>();
        Matcher matcher = MEMBER.matcher(line);
        while (matcher.find()) {
            found.put(matcher.group(1), matcher.group(2));
        }
        return found;
    }

    private static int number(Map<String, String> request, String member) {
        return Integer.parseInt(request.get(member));
    }
}
