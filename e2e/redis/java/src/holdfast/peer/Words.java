package holdfast.peer;

import java.util.Arrays;
import java.util.List;

/** Values as the words of an answer. */
final class Words {
    static final List<String> NONE = List.of();

    private Words() {}

    static List<String> of(Object... values) {
        return Arrays.stream(values).map(String::valueOf).toList();
    }

    /** A time, or a number of things. */
    static long number(List<String> words, int at) {
        return Long.parseLong(words.get(at));
    }
}
