package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.recipes.shared.SharedValueListener;
import org.apache.curator.framework.recipes.shared.SharedValueReader;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.framework.state.ConnectionState;

/** A {@link SharedValue}, whose listener sends the event {@code changed} with the new value. All values are in hex. */
final class NamedSharedValue implements SharedValueListener {
    private final SharedValue value;
    private final Seen<byte[]> seen = new Seen<>();
    private final Tell tell;

    private NamedSharedValue(CuratorFramework client, String path, byte[] seed, Tell tell) {
        value = new SharedValue(client, path, seed);
        value.getListenable().addListener(this);
        this.tell = tell;
    }

    static void addTo(Commands commands) {
        // sharedValue.new <value> <client> <path> <seed>
        new Recipe<NamedSharedValue>(commands, "sharedValue", (client, a, tell) ->
                new NamedSharedValue(client, a.get(0), Answer.bytes(a.get(1)), tell))
                .verb("start", (value, a) -> {
                    value.value.start();
                    return List.of();
                })
                // -> number to hand to trySet, value, version of the node
                .verb("get", (value, a) -> {
                    VersionedValue<byte[]> now = value.value.getVersionedValue();
                    return Answer.of(value.seen.keep(now), Answer.hex(now.getValue()), now.getVersion());
                })
                // set <value>
                .verb("set", (value, a) -> {
                    value.value.setValue(Answer.bytes(a.get(0)));
                    return List.of();
                })
                // trySet <number of a get> <value> -> whether it was still at that version
                .verb("trySet", (value, a) -> Answer.of(
                        value.value.trySetValue(value.seen.get(a.get(0)), Answer.bytes(a.get(1)))))
                .verb("close", (value, a) -> {
                    value.value.close();
                    return List.of();
                });
    }

    @Override
    public void valueHasChanged(SharedValueReader reader, byte[] newValue) {
        tell.say("changed", Answer.hex(newValue));
    }

    @Override
    public void stateChanged(CuratorFramework client, ConnectionState state) {
        // The client reports its states itself.
    }
}
