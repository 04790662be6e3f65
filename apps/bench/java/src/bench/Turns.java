package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** What owners do with the locks of one peer, and when; each owner is a thread. See {@code turns.ts}. */
final class Turns {
    /** Ten thousand owners are as many threads. */
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
            Client.Lock lock = client(i).lock(name + "-" + i % locks);
            threads.add(start(loops, () -> {
                ready.countDown();
                go.await();
                while (System.nanoTime() < untilNs[0]) {
                    if (contended) {
                        loops.turn(lock);
                    } else {
                        loops.pair(lock);
                    }
                }
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
        holder.acquire();
        CountDownLatch called = new CountDownLatch(owners);
        for (int i = 0; i < owners; i++) {
            Client.Lock lock = client(i + 1).lock(name);
            queue.add(start(waits, () -> {
                called.countDown();
                waits.turn(lock);
            }));
        }
        called.await();
    }

    /** By this thread, which has called {@code queue}: both libraries know holders by their threads. */
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

    private static final class Record {
        private long[] latenciesUs = new long[1 << 12];
        private int latencies;
        private long[] granted = new long[1 << 12];
        private int grants;
        private int operations;
        private int calls;
        private long releasedNs;
        private Exception failure;

        void pair(Client.Lock lock) throws Exception {
            long calledNs = System.nanoTime();
            lock.acquire();
            lock.release();
            long tookNs = System.nanoTime() - calledNs;
            synchronized (this) {
                latency(tookNs);
                operations++;
            }
        }

        void turn(Client.Lock lock) throws Exception {
            int call;
            synchronized (this) {
                call = calls++;
            }
            lock.acquire();
            long nowNs = System.nanoTime();
            synchronized (this) {
                if (grants == granted.length) {
                    granted = Arrays.copyOf(granted, 2 * grants);
                }
                granted[grants++] = call;
                if (releasedNs > 0) {
                    latency(nowNs - releasedNs);
                }
            }
            release(lock);
            synchronized (this) {
                operations++;
            }
        }

        void release(Client.Lock lock) throws Exception {
            synchronized (this) {
                releasedNs = System.nanoTime();
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
            return "{\"operations\":" + operations + ",\"tookMs\":" + tookMs
                    + ",\"latenciesUs\":" + json(latenciesUs, latencies) + ",\"grants\":" + json(granted, grants) + "}";
        }

        private void latency(long tookNs) {
            if (latencies == latenciesUs.length) {
                latenciesUs = Arrays.copyOf(latenciesUs, 2 * latencies);
            }
            latenciesUs[latencies++] = Math.round(tookNs / 1e3);
        }

        private static String json(long[] values, int count) {
            StringBuilder text = new StringBuilder("[");
            for (int i = 0; i < count; i++) {
                text.append(i == 0 ? "" : ",").append(values[i]);
            }
            return text.append("]").toString();
        }
    }
}
