package holdfast.peer;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.recipes.shared.VersionedValue;

/** The versioned values that were answered. Only Curator makes such values, so the tests send a number in place of one. */
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
