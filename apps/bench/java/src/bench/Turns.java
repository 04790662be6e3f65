package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;

/** What the owners do with the locks of one peer, and when. Each owner is a thread. See {@code turns.ts}. */
final class Turns {
    /** The stack of a thread is small, because ten thousand owners are ten thousand threads. */
    private static final long STACK_BYTES = 256 * 1024;

    private final List<Client> clients;
    private Client.Lock holder;
    private Record record;
    private List<Thread> queue;

    Turns(List<Client> clients) {
        this.clients = clients;
    }

    String loop(String name, int owners, int locks, long forMs) throws Exception {
        boolean contended = owners > locks;
        Record loops = new Record();
        CountDownLatch ready = new CountDownLatch(owners);
        CountDownLatch go = new CountDownLatch(1);
        long[] untilNs = new long[1];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < owners; i++) {
            int owner = i;
            Client.Lock lock = client(i).lock(name + "-" + i % locks);
            threads.add(start(loops, () -> {
                ready.countDown();
                go.await();
                do {
                    if (contended) {
                        loops.turn(lock, owner);
                    } else {
                        loops.pair(lock);
                    }
                } while (System.nanoTime() < untilNs[0]);
            }));
        }
        ready.await();
        long startedNs = System.nanoTime();
        untilNs[0] = startedNs + forMs * 1_000_000;
        go.countDown();
        join(threads);
        return loops.samples(startedNs);
    }

    void queue(String name, int owners) throws Exception {
        Record waits = new Record();
        record = waits;
        queue = new ArrayList<>();
        holder = client(0).lock(name);
        waits.acquire(holder, 0);
        CountDownLatch called = new CountDownLatch(owners);
        for (int i = 1; i <= owners; i++) {
            int owner = i;
            Client.Lock lock = client(i).lock(name);
            queue.add(start(waits, () -> {
                called.countDown();
                waits.turn(lock, owner);
            }));
        }
        called.await();
    }

    /** Call it on the thread that has called {@code queue}: both libraries know holders by their threads. */
    String drain() throws Exception {
        long startedNs = System.nanoTime();
        record.release(holder);
        join(queue);
        return record.samples(startedNs);
    }

    void close() throws Exception {
        for (Client client : clients) {
            client.close();
        }
    }

    private Client client(int index) {
        return clients.get(index % clients.size());
    }

    private static void join(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private interface Body {
        void run() throws Exception;
    }

    private static Thread start(Record record, Body body) {
        Thread thread = new Thread(null, () -> {
            try {
                body.run();
            } catch (Exception failure) {
                record.failed(failure);
            }
        }, "owner", STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static final class Grant {
        private final int call;
        private final int owner;
        private final long grantedNs = System.nanoTime();
        private long releasedNs;

        Grant(int call, int owner) {
            this.call = call;
            this.owner = owner;
        }
    }

    private static final class Record {
        private final List<Long> pairsNs = new ArrayList<>();
        private final List<Grant> grants = new ArrayList<>();
        private int operations;
        private int calls;
        private Exception failure;

        void pair(Client.Lock lock) throws Exception {
            long calledNs = System.nanoTime();
            lock.acquire();
            lock.release();
            long tookNs = System.nanoTime() - calledNs;
            synchronized (this) {
                pairsNs.add(tookNs);
                operations++;
            }
        }

        void turn(Client.Lock lock, int owner) throws Exception {
            acquire(lock, owner);
            release(lock);
            synchronized (this) {
                operations++;
            }
        }

        void acquire(Client.Lock lock, int owner) throws Exception {
            int call;
            synchronized (this) {
                call = calls++;
            }
            lock.acquire();
            Grant grant = new Grant(call, owner);
            synchronized (this) {
                grants.add(grant);
            }
        }

        /** Called by the owner that was granted last. All others wait for it. */
        void release(Client.Lock lock) throws Exception {
            synchronized (this) {
                grants.get(grants.size() - 1).releasedNs = System.nanoTime();
            }
            lock.release();
        }

        synchronized void failed(Exception why) {
            if (failure == null) {
                failure = why;
            }
        }

        synchronized String samples(long startedNs) throws Exception {
            if (failure != null) {
                throw failure;
            }
            double tookMs = (System.nanoTime() - startedNs) / 1e6;
            String latencies = pairsNs.stream().map(Record::microseconds).collect(Collectors.joining(","));
            String turns = grants.stream()
                    .map(grant -> "[" + grant.call + "," + grant.owner + "," + microseconds(grant.grantedNs - startedNs)
                            + "," + microseconds(grant.releasedNs - startedNs) + "]")
                    .collect(Collectors.joining(","));
            return "{\"operations\":" + operations + ",\"tookMs\":" + tookMs
                    + ",\"latenciesUs\":[" + latencies + "],\"grants\":[" + turns + "]}";
        }

        /** Microseconds, rounded to a tenth. */
        private static String microseconds(long ns) {
            return Double.toString(Math.round(ns / 100.0) / 10.0);
        }
    }
}
