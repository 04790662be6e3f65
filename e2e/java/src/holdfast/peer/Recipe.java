package holdfast.peer;

import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;

/**
 * The objects of one of Curator's recipes. {@code <recipe>.new <name> <client> argument...} makes one,
 * {@code <recipe>.<verb> <name> argument...} calls it, and what happens to it comes as the event
 * {@code <recipe> <name> word...}.
 */
final class Recipe<T> {
    interface Maker<T> {
        T make(CuratorFramework client, List<String> arguments, Tell tell) throws Exception;
    }

    interface Verb<T> {
        List<String> run(T thing, List<String> arguments) throws Exception;
    }

    private final Commands commands;
    private final String kind;
    private final Known<T> things;

    Recipe(Commands commands, String kind, Maker<T> maker) {
        this.commands = commands;
        this.kind = kind;
        things = new Known<>(kind);
        commands.add(kind + ".new", a -> {
            String name = a.get(0);
            things.put(name, maker.make(commands.client(a.get(1)), a.subList(2, a.size()), teller(name)));
            return List.of();
        });
    }

    Recipe<T> verb(String verb, Verb<T> body) {
        commands.add(kind + "." + verb, a -> body.run(things.get(a.get(0)), a.subList(1, a.size())));
        return this;
    }

    T get(String name) {
        return things.get(name);
    }

    private Tell teller(String name) {
        return words -> {
            List<String> values = new ArrayList<>(List.of(name));
            values.addAll(Answer.of(words));
            commands.tell(kind, values);
        };
    }
}
