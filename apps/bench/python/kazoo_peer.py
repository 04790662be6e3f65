"""kazoo in a process of its own; `protocol.ts` has the protocol, and `turns.ts` says what owners do. An owner is a thread."""

import json
import os
import platform
import sys
import threading
import time

import kazoo.version
from kazoo.client import KazooClient

# The descriptor is kept for the protocol; whatever else prints goes to stderr.
_out = sys.stdout
sys.stdout = sys.stderr
threading.stack_size(256 * 1024)


def tell(message):
    _out.write(json.dumps(message) + "\n")
    _out.flush()


class Record:
    def __init__(self):
        self.pairs = []
        self.turns = []
        self.operations = 0
        self.calls = 0
        self.failure = None
        self.guard = threading.Lock()

    def pair(self, lock):
        called = time.perf_counter()
        lock.acquire()
        lock.release()
        self.pairs.append(time.perf_counter() - called)
        with self.guard:
            self.operations += 1

    def turn(self, lock, owner):
        self.acquire(lock, owner)
        self.release(lock)
        with self.guard:
            self.operations += 1

    def acquire(self, lock, owner):
        with self.guard:
            call = self.calls
            self.calls += 1
        lock.acquire()
        self.turns.append([call, owner, time.perf_counter(), None])

    def release(self, lock):
        self.turns[-1][3] = time.perf_counter()
        lock.release()

    def start(self, body):
        def guarded():
            try:
                body()
            except BaseException as failure:
                self.failure = self.failure or failure

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def samples(self, started):
        if self.failure is not None:
            raise self.failure
        return {
            "operations": self.operations,
            "tookMs": (time.perf_counter() - started) * 1e3,
            "latenciesUs": [microseconds(took) for took in self.pairs],
            "grants": [
                [call, owner, microseconds(granted - started), microseconds(released - started)]
                for call, owner, granted, released in self.turns
            ],
        }


def microseconds(seconds):
    return round(seconds * 1e6, 1)


class Turns:
    def __init__(self):
        self.clients = []
        self.queued = None

    def connect(self, server, clients):
        self.clients = [KazooClient(hosts=server, timeout=30.0) for _ in range(clients)]
        for client in self.clients:
            client.start(timeout=30)

    def lock(self, index, name):
        return self.clients[index % len(self.clients)].Lock(f"/kazoo-{name}")

    def loop(self, name, owners, locks, forMs):
        record = Record()
        contended = owners > locks
        owned = [self.lock(i, f"{name}-{i % locks}") for i in range(owners)]
        started = time.perf_counter()
        until = started + forMs / 1e3

        def run(owner, lock):
            while True:
                if contended:
                    record.turn(lock, owner)
                else:
                    record.pair(lock)
                if time.perf_counter() >= until:
                    return

        threads = [record.start(lambda each=each: run(*each)) for each in enumerate(owned)]
        for thread in threads:
            thread.join()
        return record.samples(started)

    def queue(self, name, owners):
        record = Record()
        holder = self.lock(0, name)
        record.acquire(holder, 0)
        owned = [(self.lock(i, name), i) for i in range(1, owners + 1)]
        threads = [record.start(lambda each=each: record.turn(*each)) for each in owned]
        self.queued = (record, holder, threads)

    def drain(self):
        record, holder, threads = self.queued
        started = time.perf_counter()
        record.release(holder)
        for thread in threads:
            thread.join()
        return record.samples(started)

    def close(self):
        for client in self.clients:
            client.stop()
            client.close()


turns = Turns()
tell({"ready": {"kazoo": kazoo.version.__version__, "Python": platform.python_version()}})
for line in sys.stdin:
    try:
        request = json.loads(line)
        tell({"ok": getattr(turns, request.pop("do"))(**request) or {}})
    except BaseException as failure:
        tell({"error": f"{type(failure).__name__}: {failure}"})
os._exit(0)
