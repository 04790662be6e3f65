package holdfast.chaos;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The JSON that the protocol's lines need. There is no parser on the class path that both libraries bring along. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Objects become maps, arrays lists, numbers {@code Long} or {@code Double}. */
    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.space();
        if (json.at != text.length()) {
            throw json.wrong();
        }
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    /** The text of a map that contains only text, numbers, truth values and maps of them. */
    static String text(Object value) {
        if (value instanceof Map) {
            StringBuilder out = new StringBuilder("{");
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(out.length() == 1 ? "" : ",").append(quoted((String) entry.getKey()));
                out.append(':').append(text(entry.getValue()));
            }
            return out.append('}').toString();
        }
        return value instanceof String ? quoted((String) value) : String.valueOf(value);
    }

    /** A map in the order of its arguments, which are names and values by turns. Values that are {@code null} are left out. */
    static Map<String, Object> of(Object... words) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int each = 0; each < words.length; each += 2) {
            if (words[each + 1] != null) {
                map.put((String) words[each], words[each + 1]);
            }
        }
        return map;
    }

    private static String quoted(String words) {
        StringBuilder out = new StringBuilder("\"");
        for (char each : words.toCharArray()) {
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ') {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        return out.append('"').toString();
    }

    private Object value() {
        space();
        switch (peek()) {
            case '{':
                return map();
            case '[':
                return list();
            case '"':
                return string();
            default:
                return bare();
        }
    }

    private Map<String, Object> map() {
        Map<String, Object> map = new LinkedHashMap<>();
        at++;
        for (space(); peek() != '}'; space()) {
            if (!map.isEmpty()) {
                expect(',');
                space();
            }
            String name = string();
            space();
            expect(':');
            map.put(name, value());
        }
        at++;
        return map;
    }

    private List<Object> list() {
        List<Object> list = new ArrayList<>();
        at++;
        for (space(); peek() != ']'; space()) {
            if (!list.isEmpty()) {
                expect(',');
            }
            list.add(value());
        }
        at++;
        return list;
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        for (char each = next(); each != '"'; each = next()) {
            out.append(each == '\\' ? escaped() : each);
        }
        return out.toString();
    }

    private char escaped() {
        char each = next();
        switch (each) {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'u':
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            default:
                return each;
        }
    }

    private Object bare() {
        int from = at;
        while (at < text.length() && ",]} \t".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(from, at);
        switch (word) {
            case "true":
                return true;
            case "false":
                return false;
            case "null":
                return null;
            default:
                if (word.isEmpty()) {
                    throw wrong();
                }
                return word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        }
    }

    private void space() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw wrong();
        }
        return text.charAt(at);
    }

    private char next() {
        char each = peek();
        at++;
        return each;
    }

    private void expect(char wanted) {
        if (next() != wanted) {
            throw wrong();
        }
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("no JSON at " + at + ": " + text);
    }
}
