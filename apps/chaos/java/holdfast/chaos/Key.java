package holdfast.chaos;

import java.util.Map;

/** Something that is contended for. */
final class Key {
    /** As the history has it. */
    final String id;
    /** As the backend has it. */
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

    /** Shared by readers. */
    boolean shared() {
        return kind.equals("read-write");
    }
}
