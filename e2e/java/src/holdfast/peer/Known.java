package holdfast.peer;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Objects under the names that the tests chose for them. */
final class Known<T> {
    private final String what;
    private final Map<String, T> things = new ConcurrentHashMap<>();

    Known(String what) {
        this.what = what;
    }

    void put(String name, T thing) {
        things.put(name, thing);
    }

    T get(String name) {
        T thing = things.get(name);
        if (thing == null) {
            throw new IllegalArgumentException("no " + what + " " + name);
        }
        return thing;
    }

    void remove(String name) {
        things.remove(name);
    }
}
