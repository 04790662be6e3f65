package holdfast.chaos;

import java.util.Map;

/** A key for which workers contend. */
final class Key {
    /** The name in the history. */
    final String id;
    /** The name at the backend. */
    final String name;
    final String kind;
    final long leaseMs;

    Key(Object value) {
        Map<String, Object> key = Json.object(value);
        id = (String) key.get("id");
        name = (String) key.get("name");
        kind = (String) key.get("kind");
        leaseMs = ((Number) key.get("leaseMs")).longValue();
    }

    /** Whether readers can share it. */
    boolean shared() {
        return kind.equals("read-write");
    }
}
