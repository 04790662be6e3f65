package holdfast.chaos;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** The protected resource of the runner. It takes one request at a time, each as a line. */
final class Resource implements AutoCloseable {
    private final Socket socket;
    private final BufferedReader answers;
    private final OutputStream requests;
    private final boolean fenced;
    private long last;

    Resource(String address, boolean fenced) throws IOException {
        int colon = address.lastIndexOf(':');
        socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        requests = socket.getOutputStream();
        this.fenced = fenced;
    }

    /** The stored value, or {@code null} if the read was refused. */
    Long read(Key key, String hold, Long token) throws IOException {
        Map<String, Object> answer = ask("read", key, hold, null, token);
        return accepted(answer) ? ((Number) answer.get("value")).longValue() : null;
    }

    /** Writes the value that was read plus one. Returns false if the write was refused. */
    boolean write(Key key, String hold, long read, Long token) throws IOException {
        return accepted(ask("write", key, hold, read, token));
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private synchronized Map<String, Object> ask(String what, Key key, String hold, Long read, Long token)
            throws IOException {
        Map<String, Object> request = Json.of(
                "id", ++last, "do", what, "key", key.id, "hold", hold, "read", read,
                "token", token == null ? null : token.toString(), "fenced", fenced);
        requests.write((Json.text(request) + "\n").getBytes(StandardCharsets.UTF_8));
        String line = answers.readLine();
        if (line == null) {
            throw new IOException("the resource is gone");
        }
        return Json.object(Json.parse(line));
    }

    private static boolean accepted(Map<String, Object> answer) {
        return Boolean.TRUE.equals(answer.get("accepted"));
    }
}
