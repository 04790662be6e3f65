package holdfast.peer;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * One line of the protocol: words between single spaces, each percent-encoded, so that a word may be empty or hold
 * any text. The other side encodes with {@code encodeURIComponent}.
 */
final class Line {
    private Line() {}

    static String join(List<String> words) {
        StringBuilder line = new StringBuilder();
        for (String word : words) {
            if (line.length() > 0) {
                line.append(' ');
            }
            line.append(URLEncoder.encode(word, StandardCharsets.UTF_8).replace("+", "%20"));
        }
        return line.toString();
    }

    static List<String> split(String line) {
        List<String> words = new ArrayList<>();
        for (String word : line.split(" ", -1)) {
            words.add(URLDecoder.decode(word, StandardCharsets.UTF_8));
        }
        return words;
    }
}
