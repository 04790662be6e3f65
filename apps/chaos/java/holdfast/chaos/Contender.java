package holdfast.chaos;

import java.util.List;
import java.util.Map;
import java.util.Random;

/** Takes turns at its keys until the worker gets the order to stop, all on one thread. */
final class Contender extends Thread {
    private final Worker worker;
    private final Map<String, Object> group;
    private final List<Key> keys;
    private final Random random;
    private boolean waiting;

    Contender(Worker worker, Map<String, Object> group, List<Key> keys, long seed, String name) {
        super(name);
        this.worker = worker;
        this.group = group;
        this.keys = keys;
        random = new Random(seed * 31 + (worker.p() + name).hashCode());
    }

    @Override
    public void run() {
        try {
            while (!worker.stopping()) {
                boolean granted = turn(keys.get(random.nextInt(keys.size())));
                // After a refusal or a failure it does not ask again at once.
                worker.pass(granted ? drawn("pauseMs", 0, 5) : 50 + random.nextInt(100), null);
            }
        } catch (Throwable broken) {
            worker.fail(broken);
        }
    }

    /** Ends a wait. Work that is under way goes on. */
    synchronized void abort() {
        if (waiting) {
            interrupt();
        }
    }

    private boolean turn(Key key) throws Exception {
        boolean shared = key.shared();
        String mode = shared && random.nextDouble() < option("reads", 0.5) ? "read" : "write";
        Long waitMs = group.get("waitMs") == null ? null : ((Number) group.get("waitMs")).longValue();
        long op = worker.ask("acquire", key, null, Json.of(
                "mode", mode.equals("read") ? mode : null, "waitMs", waitMs, "thread", shared ? getName() : null));
        Locks.Grant grant;
        try {
            setWaiting(true);
            grant = worker.locks().acquire(key, mode, waitMs, worker.p() + ":" + op);
        } catch (Exception error) {
            worker.end("info", "acquire", key, op, "error", String.valueOf(error));
            return false;
        } finally {
            setWaiting(false);
            // An abort may have come after the grant.
            Thread.interrupted();
        }
        if (grant == null) {
            worker.end("fail", "acquire", key, op);
            return false;
        }
        Held held = worker.granted(key, op, grant);
        work(held, mode.equals("write") ? worker.resource() : null);
        giveBack(held);
        return true;
    }

    /** A read-modify-write over the whole hold. After a loss nothing is written, except by a client that must not heed it. */
    private void work(Held held, Resource resource) throws Exception {
        Key key = held.key();
        Long token = held.grant().token();
        Long read = resource == null ? null : resource.read(key, held.id(), token);
        boolean heeds = heeds();
        worker.pass(drawn("holdMs", 0, 0), heeds ? held : null);
        if (read == null || (heeds && held.lost())) {
            return;
        }
        long op = worker.ask("write", key, held.id(), null);
        if (resource.write(key, held.id(), read, token)) {
            worker.end("ok", "write", key, op);
        } else {
            worker.end("fail", "write", key, op, "error", "refused: a newer token was seen");
        }
    }

    private void giveBack(Held held) {
        long op = worker.ask("release", held.key(), held.id(), null);
        try {
            held.grant().release();
            if (held.lost()) {
                worker.end("fail", "release", held.key(), op, "error", "it was lost");
            } else {
                worker.end("ok", "release", held.key(), op);
            }
        } catch (Exception error) {
            worker.end("info", "release", held.key(), op, "error", String.valueOf(error));
        }
        worker.gone(held);
    }

    private synchronized void setWaiting(boolean now) {
        waiting = now && !worker.aborted();
        if (now && !waiting) {
            interrupt();
        }
    }

    private long drawn(String range, long least, long most) {
        List<?> given = (List<?>) group.get(range);
        if (given == null) {
            return between(least, most);
        }
        return between(((Number) given.get(0)).longValue(), ((Number) given.get(1)).longValue());
    }

    private long between(long least, long most) {
        return least + (long) (random.nextDouble() * (most - least + 1));
    }

    private boolean heeds() {
        Map<String, Object> options = Json.object(group.get("options"));
        return options == null || !Boolean.FALSE.equals(options.get("heeds"));
    }

    private double option(String name, double otherwise) {
        Map<String, Object> options = Json.object(group.get("options"));
        Object value = options == null ? null : options.get(name);
        return value == null ? otherwise : ((Number) value).doubleValue();
    }
}
