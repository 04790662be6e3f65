package holdfast.peer;

import java.util.List;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.retry.RetryNTimes;

/** A {@link DistributedAtomicLong}. Each answer has three words: succeeded, value before, value after. */
final class NamedAtomicLong {
    private static final int TRIES = 20;
    private static final int BETWEEN_TRIES_MS = 5;

    private NamedAtomicLong() {}

    static void addTo(Commands commands) {
        // atomicLong.new <number> <client> <path>
        new Recipe<DistributedAtomicLong>(commands, "atomicLong", (client, a, tell) ->
                new DistributedAtomicLong(client, a.get(0), new RetryNTimes(TRIES, BETWEEN_TRIES_MS)))
                .verb("get", (number, a) -> answer(number.get()))
                // add <delta>
                .verb("add", (number, a) -> answer(number.add(Long.valueOf(a.get(0)))))
                // trySet <value>
                .verb("trySet", (number, a) -> answer(number.trySet(Long.valueOf(a.get(0)))))
                // compareAndSet <expected> <value>
                .verb("compareAndSet", (number, a) ->
                        answer(number.compareAndSet(Long.valueOf(a.get(0)), Long.valueOf(a.get(1)))))
                // forceSet <value>
                .verb("forceSet", (number, a) -> {
                    number.forceSet(Long.valueOf(a.get(0)));
                    return List.of();
                })
                // initialize <value> -> false when there is one already
                .verb("initialize", (number, a) -> Answer.of(number.initialize(Long.valueOf(a.get(0)))))
                // increment <times> -> how many of them succeeded; the others did nothing
                .verb("increment", (number, a) -> {
                    int succeeded = 0;
                    for (int time = Integer.parseInt(a.get(0)); time > 0; time--) {
                        succeeded += number.increment().succeeded() ? 1 : 0;
                    }
                    return Answer.of(succeeded);
                });
    }

    private static List<String> answer(AtomicValue<Long> value) {
        return Answer.of(value.succeeded(), value.preValue(), value.postValue());
    }
}
