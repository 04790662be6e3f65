package holdfast.peer;

import java.util.List;
import org.redisson.api.RedissonClient;

/**
 * The objects of one kind. {@code <kind>.new <object> <client> argument...} makes one; {@code <kind>.<verb> <object>
 * argument...} asks it for something. A verb that belongs to a thread takes the name of the thread before its other
 * arguments.
 */
final class RedissonObjects<T> {
    interface Maker<T> {
        T make(RedissonClient client, List<String> arguments) throws Exception;
    }

    interface Verb<T> {
        List<String> run(T thing, List<String> arguments) throws Exception;
    }

    private final RedissonCommands commands;
    private final String kind;
    private final Known<T> things;

    RedissonObjects(RedissonCommands commands, String kind, Maker<T> maker) {
        this.commands = commands;
        this.kind = kind;
        things = new Known<>(kind);
        commands.add(kind + ".new", a -> {
            things.put(a.get(0), maker.make(commands.client(a.get(1)), a.subList(2, a.size())));
            return Words.NONE;
        });
    }

    /** Adds a verb that any thread may run, so that it need not wait behind a thread that waits. */
    RedissonObjects<T> verb(String verb, Verb<T> body) {
        commands.add(kind + "." + verb, a -> body.run(things.get(a.get(0)), a.subList(1, a.size())));
        return this;
    }

    RedissonObjects<T> onThread(String verb, Verb<T> body) {
        return verb(verb, (thing, a) ->
                commands.threads().run(a.get(0), () -> body.run(thing, a.subList(1, a.size()))));
    }
}
