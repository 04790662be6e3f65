package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.nodes.GroupMember;

/** A {@link GroupMember}. Data is in hex. */
final class NamedGroupMember {
    private static final long CREATED_WITHIN_MS = 5_000;

    private NamedGroupMember() {}

    static void addTo(Commands commands) {
        // groupMember.new <member> <client> <path> <id> <data>
        new Recipe<GroupMember>(commands, "groupMember", (client, a, tell) ->
                new GroupMember(client, a.get(0), a.get(1), Answer.bytes(a.get(2))))
                .verb("start", (member, a) -> {
                    member.start();
                    return List.of();
                })
                // -> id and data of each, in no order
                .verb("members", (member, a) -> members(member))
                // setData <data>
                .verb("setData", (member, a) -> setData(member, Answer.bytes(a.get(0))))
                .verb("close", (member, a) -> {
                    member.close();
                    return List.of();
                });
    }

    /** Curator refuses until it knows that the node exists, and gives no signal for that. So the call is repeated for a while. */
    private static List<String> setData(GroupMember member, byte[] data) throws InterruptedException {
        long endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CREATED_WITHIN_MS);
        while (true) {
            try {
                member.setThisData(data);
                return List.of();
            } catch (IllegalStateException notYet) {
                if (System.nanoTime() > endNanos) {
                    throw notYet;
                }
                Thread.sleep(5);
            }
        }
    }

    private static List<String> members(GroupMember member) {
        List<String> words = new ArrayList<>();
        for (Map.Entry<String, byte[]> each : member.getCurrentMembers().entrySet()) {
            words.add(each.getKey());
            words.add(Answer.hex(each.getValue()));
        }
        return words;
    }
}
