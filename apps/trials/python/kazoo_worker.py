"""kazoo as a worker of the chaos runner (apps/chaos/docs/worker-protocol.md): one client, a thread for each contender."""
import json
import os
import random
import socket
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import CancelledError, KazooException

output = threading.RLock()
threading.stack_size(256 * 1024)


def say(word):
    with output:
        sys.stdout.write(json.dumps(word) + "\n")
        sys.stdout.flush()


class Worker:
    def __init__(self, setup):
        self.p, self.group, self.keys = setup["p"], setup["group"], setup["keys"]
        self.base = int(setup["clockBase"])
        self.seed, self.resource = setup["seed"], setup["resource"] if setup["group"].get("writes") else None
        self.op = 0
        self.held = {}
        self.stopping = threading.Event()
        self.threads = []
        session = max(key["leaseMs"] for key in self.keys) / 1e3
        self.client = KazooClient(hosts=setup["servers"]["connect"], timeout=session, connection_retry=dict(max_tries=-1))
        self.client.start(timeout=30)
        self.client.add_listener(self.heard)

    def heard(self, state):
        # kazoo's page: after SUSPENDED nobody knows, and a careful holder stops.
        if state == KazooState.CONNECTED:
            return
        with output:
            for hold, (key, lost) in self.held.items():
                if not lost.is_set():
                    lost.set()
                    self.record("event", "lost", key, hold=hold, cause=state)

    def abort(self):
        for thread in self.threads:
            for _, lock in thread.locks:
                lock.cancel()

    def record(self, kind, f, key, **more):
        with output:
            say({"t": time.monotonic_ns() - self.base, "type": kind, "p": self.p, "f": f, "key": key["id"], **more})

    def invoke(self, f, key, **more):
        with output:
            self.op += 1
            self.record("invoke", f, key, op=self.op, **more)
            return self.op

    def run(self):
        self.threads = [Contender(self, at) for at in range(self.group.get("contenders", 1))]
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        self.client.stop()
        say({"say": "done"})
        # The main thread still reads: abort may have come.
        os._exit(0)


class Contender(threading.Thread):
    def __init__(self, worker, at):
        super().__init__(daemon=True)
        self.worker = worker
        self.random = random.Random(f"{worker.seed} {worker.p} {at}")
        self.locks = [(key, worker.client.Lock(f"/kazoo-{key['name']}", worker.p)) for key in worker.keys]
        self.resource = None
        if worker.resource:
            host, port = worker.resource.split(":")
            self.resource = socket.create_connection((host, int(port))).makefile("rw")

    def run(self):
        while not self.worker.stopping.is_set():
            granted = self.turn(*self.random.choice(self.locks))
            least, most = self.worker.group.get("pauseMs", [0, 5]) if granted else [50, 150]
            self.worker.stopping.wait(self.random.uniform(least, most) / 1e3)

    def turn(self, key, lock):
        worker = self.worker
        op = worker.invoke("acquire", key)
        try:
            lock.acquire()
        except (KazooException, CancelledError) as error:
            worker.record("info", "acquire", key, op=op, error=repr(error))
            return False
        hold, lost = f"{worker.p}:{op}", threading.Event()
        with output:
            worker.record("ok", "acquire", key, op=op, ret={"hold": hold})
            worker.held[hold] = (key, lost)
        self.work(key, hold, lost)
        with output:
            del worker.held[hold]
            op = worker.invoke("release", key, hold=hold)
        try:
            released = lock.release()
            worker.record("ok" if released else "fail", "release", key, op=op)
        except KazooException as error:
            worker.record("info", "release", key, op=op, error=repr(error))
        return True

    def work(self, key, hold, lost):
        before = self.ask("read", key, hold) if self.resource else None
        heeds = self.worker.group.get("options", {}).get("heeds", True)
        took = self.random.uniform(*self.worker.group["holdMs"]) / 1e3
        lost.wait(took) if heeds else time.sleep(took)
        if before is None or not before["accepted"] or (heeds and lost.is_set()):
            return
        op = self.worker.invoke("write", key, hold=hold)
        accepted = self.ask("write", key, hold, read=before["value"])["accepted"]
        self.worker.record("ok" if accepted else "fail", "write", key, op=op)

    def ask(self, do, key, hold, **more):
        self.resource.write(json.dumps({"id": 1, "do": do, "key": key["id"], "hold": hold, "fenced": False, **more}) + "\n")
        self.resource.flush()
        return json.loads(self.resource.readline())


worker = None
for line in sys.stdin:
    word = json.loads(line)
    if word["do"] == "setup":
        worker = Worker(word["setup"])
        say({"say": "ready"})
    elif word["do"] == "start":
        threading.Thread(target=worker.run, daemon=True).start()
    elif word["do"] == "stop":
        worker.stopping.set()
    elif word["do"] == "abort":
        worker.abort()
os._exit(1)
