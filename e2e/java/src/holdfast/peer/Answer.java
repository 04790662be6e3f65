package holdfast.peer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import org.apache.curator.framework.recipes.leader.Participant;

/** Values as the words of an answer. */
final class Answer {
    private Answer() {}

    static List<String> of(Object... values) {
        return Arrays.stream(values).map(String::valueOf).toList();
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    /** Two words for each: id, and whether it leads. */
    static List<String> participants(Collection<Participant> participants) {
        List<String> words = new ArrayList<>();
        for (Participant participant : participants) {
            words.add(participant.getId());
            words.add(String.valueOf(participant.isLeader()));
        }
        return words;
    }
}
