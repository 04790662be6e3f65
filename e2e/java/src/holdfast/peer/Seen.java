package holdfast.peer;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.recipes.shared.VersionedValue;

/** Versioned values that were answered: only Curator makes them, so the asker hands back a number that stands for one. */
final class Seen<T> {
    private final AtomicInteger last = new AtomicInteger();
    private final Map<Integer, VersionedValue<T>> values = new ConcurrentHashMap<>();

    int keep(VersionedValue<T> value) {
        int number = last.incrementAndGet();
        values.put(number, value);
        return number;
    }

    VersionedValue<T> get(String number) {
        return values.get(Integer.valueOf(number));
    }
}
