package holdfast.chaos;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * A Java worker of the runner: one process, one client, some contenders. It reads and writes lines of JSON, whose meaning is in
 * {@code src/workload/protocol.ts}. Every record has a time of {@code System.nanoTime()}, which on Linux is the runner's clock
 * too, and is written before anything else happens.
 */
final class Worker {
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

    private final String p;
    private final long clockBase;
    private final List<Contender> contenders = new ArrayList<>();
    private final Set<Held> holds = ConcurrentHashMap.newKeySet();
    private final Locks locks;
    private final Resource resource;
    private final Object passing = new Object();
    private long lastOp;
    private boolean stopping;
    private boolean aborted;

    private Worker(Map<String, Object> setup, Locks.Opener opener) throws Exception {
        p = (String) setup.get("p");
        clockBase = Long.parseLong((String) setup.get("clockBase"));
        Map<String, Object> group = Json.object(setup.get("group"));
        List<Key> keys = ((List<?>) setup.get("keys")).stream().map(Key::new).collect(Collectors.toList());
        String address = (String) setup.get("resource");
        Object writes = group.get("writes");
        resource = writes == null || address == null ? null : new Resource(address, writes.equals("fenced"));
        long leaseMs = keys.stream().mapToLong(key -> key.leaseMs).max().orElseThrow();
        locks = opener.open(setup, leaseMs, this::heard);
        long seed = ((Number) setup.get("seed")).longValue();
        Object count = group.get("contenders");
        for (int at = 0; at < (count == null ? 1 : ((Number) count).intValue()); at++) {
            contenders.add(new Contender(this, group, keys, seed, "c" + at));
        }
    }

    /** Follows the lines on standard input until it ends. */
    static void run(Locks.Opener opener) {
        try {
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            Worker worker = null;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Map<String, Object> word = Json.object(Json.parse(line));
                if (word.get("do").equals("setup")) {
                    worker = new Worker(Json.object(word.get("setup")), opener);
                    say(Json.of("say", "ready", "versions", worker.locks.versions()));
                } else if (worker != null) {
                    worker.follow((String) word.get("do"));
                }
            }
        } catch (Throwable broken) {
            end(broken);
        }
        // The runner is gone, so its reader of our output is gone too.
        Runtime.getRuntime().halt(1);
    }

    String p() {
        return p;
    }

    Locks locks() {
        return locks;
    }

    /** The protected resource, or {@code null} for a worker that writes nothing. */
    Resource resource() {
        return resource;
    }

    boolean stopping() {
        synchronized (passing) {
            return stopping;
        }
    }

    boolean aborted() {
        synchronized (passing) {
            return aborted;
        }
    }

    /** Waits for {@code ms}. Ends early if {@code held} is lost or, without one, as soon as no turn may begin any more. */
    void pass(long ms, Held held) throws InterruptedException {
        long endNanos = System.nanoTime() + ms * 1_000_000;
        synchronized (passing) {
            for (long left = ms; left > 0; left = (endNanos - System.nanoTime() + 999_999) / 1_000_000) {
                if (held == null ? stopping : held.lost()) {
                    return;
                }
                passing.wait(left);
            }
        }
    }

    /** Records a request. Returns the number by which its end refers to it. */
    long ask(String f, Key key, String hold, Map<String, Object> arg) {
        synchronized (OUT) {
            long op = ++lastOp;
            record("type", "invoke", "p", p, "f", f, "key", key.id, "op", op, "hold", hold,
                    "arg", arg == null || arg.isEmpty() ? null : arg);
            return op;
        }
    }

    /** Records the end of a request. {@code type}: ok, fail or info. {@code more}: names and values by turns. */
    void end(String type, String f, Key key, long op, Object... more) {
        Object[] words = new Object[10 + more.length];
        Object[] first = {"type", type, "p", p, "f", f, "key", key.id, "op", op};
        System.arraycopy(first, 0, words, 0, first.length);
        System.arraycopy(more, 0, words, first.length, more.length);
        record(words);
    }

    Held granted(Key key, long op, Locks.Grant grant) {
        String id = p + ":" + op;
        Held held = new Held(id, key, grant);
        Long token = grant.token();
        synchronized (OUT) {
            end("ok", "acquire", key, op,
                    "ret", Json.of("hold", id, "token", token == null ? null : token.toString()));
            holds.add(held);
        }
        return held;
    }

    void gone(Held held) {
        holds.remove(held);
    }

    void fail(Throwable broken) {
        end(broken);
    }

    private void heard(String what, String cause) {
        synchronized (OUT) {
            for (Held held : holds) {
                if (held.lost()) {
                    continue;
                }
                record("type", "event", "p", p, "f", what, "key", held.key().id, "hold", held.id(), "cause", cause);
                if (what.equals("lost")) {
                    held.lose();
                }
            }
        }
        synchronized (passing) {
            passing.notifyAll();
        }
    }

    private void follow(String word) {
        switch (word) {
            case "start":
                contenders.forEach(Thread::start);
                break;
            case "stop":
                synchronized (passing) {
                    stopping = true;
                    passing.notifyAll();
                }
                new Thread(this::finish, "finish").start();
                break;
            case "abort":
                synchronized (passing) {
                    aborted = true;
                }
                contenders.forEach(Contender::abort);
                break;
            default:
                throw new IllegalArgumentException("told to " + word);
        }
    }

    private void finish() {
        try {
            for (Contender contender : contenders) {
                contender.join();
            }
            locks.close();
            if (resource != null) {
                resource.close();
            }
            say(Json.of("say", "done"));
        } catch (Throwable broken) {
            end(broken);
        }
        Runtime.getRuntime().halt(0);
    }

    private void record(Object... words) {
        synchronized (OUT) {
            Map<String, Object> record = Json.of("t", System.nanoTime() - clockBase);
            record.putAll(Json.of(words));
            say(record);
        }
    }

    private static void end(Throwable broken) {
        StringWriter trace = new StringWriter();
        broken.printStackTrace(new PrintWriter(trace));
        System.err.println(trace);
        String text = trace.toString();
        say(Json.of("say", "failed", "error", text.substring(0, Math.min(2_000, text.length()))));
        Runtime.getRuntime().halt(1);
    }

    private static void say(Map<String, Object> word) {
        synchronized (OUT) {
            try {
                OUT.write((Json.text(word) + "\n").getBytes(StandardCharsets.UTF_8));
            } catch (IOException gone) {
                Runtime.getRuntime().halt(1);
            }
        }
    }
}
