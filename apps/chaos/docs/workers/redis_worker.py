"""A worker of the chaos runner in Python: SET NX PX at one Redis, deleted by its owner alone. Needs nothing but Python."""
import json
import os
import random
import socket
import sys
import threading
import time

PROVIDES = {"kinds": ["mutex"], "servers": ["redis"], "promises": True}
DELETE_OWN = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
output = threading.Lock()


def say(word):
    with output:
        sys.stdout.write(json.dumps(word) + "\n")
        sys.stdout.flush()


class Redis:
    """One connection, made again when it broke. A command without an answer within two seconds raises OSError."""

    def __init__(self, address):
        self.address = (address["host"], address["port"])
        self.file = None

    def command(self, *words):
        try:
            if self.file is None:
                self.file = socket.create_connection(self.address, timeout=2).makefile("rwb")
            parts = [str(word).encode() for word in words]
            self.file.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            self.file.flush()
            return self.answer()
        except OSError:
            self.close()
            raise

    def answer(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection ended")
        kind, text = line[:1], line[1:-2]
        if kind == b"-":
            raise OSError(text.decode())
        if kind == b"$":
            return None if text == b"-1" else self.file.read(int(text) + 2)[:-2]
        return int(text) if kind == b":" else text

    def close(self):
        if self.file is not None:
            try:
                self.file.close()
            except OSError:
                pass
            self.file = None


class Worker:
    def __init__(self, setup):
        self.p = setup["p"]
        self.base = int(setup["clockBase"])
        self.group = setup["group"]
        self.keys = setup["keys"]
        self.random = random.Random(f"{setup['seed']} {self.p}")
        self.redis = Redis(setup["servers"]["address"])
        self.redis.command("PING")
        self.resource = None
        if self.group.get("writes") and setup["resource"]:
            host, port = setup["resource"].split(":")
            self.resource = socket.create_connection((host, int(port))).makefile("rw")
        self.op = 0
        self.stopping = threading.Event()
        self.aborted = threading.Event()

    def now(self):
        return time.monotonic_ns() - self.base

    def record(self, kind, f, key, op, **more):
        say({"t": self.now(), "type": kind, "p": self.p, "f": f, "key": key["id"], "op": op, **more})

    def invoke(self, f, key, **more):
        self.op += 1
        self.record("invoke", f, key, self.op, **more)
        return self.op

    def run(self):
        while not self.stopping.is_set():
            granted = self.turn(self.random.choice(self.keys))
            least, most = self.group.get("pauseMs", [0, 5]) if granted else [50, 150]
            self.stopping.wait(self.random.uniform(least, most) / 1e3)
        self.redis.close()
        say({"say": "done"})
        # The main thread still reads: abort may have come.
        os._exit(0)

    def turn(self, key):
        wait_ms = self.group.get("waitMs")
        op = self.invoke("acquire", key, arg={} if wait_ms is None else {"waitMs": wait_ms})
        hold = f"{self.p}:{op}"
        asked = time.monotonic()
        try:
            while True:
                until = self.now() + key["leaseMs"] * 1_000_000
                if self.redis.command("SET", key["name"], hold, "NX", "PX", key["leaseMs"]) is not None:
                    break
                late = wait_ms is not None and (time.monotonic() - asked) * 1e3 > wait_ms
                if late or self.aborted.wait(0.01):
                    self.record("fail", "acquire", key, op)
                    return False
        except OSError as error:
            self.record("info", "acquire", key, op, error=str(error))
            return False
        self.record("ok", "acquire", key, op, ret={"hold": hold, "validUntil": until})
        self.work(key, hold)
        op = self.invoke("release", key, hold=hold)
        try:
            ours = self.redis.command("EVAL", DELETE_OWN, 1, key["name"], hold) == 1
            self.record("ok" if ours else "fail", "release", key, op, **({} if ours else {"error": "not ours any more"}))
        except OSError as error:
            self.record("info", "release", key, op, error=str(error))
        return True

    def work(self, key, hold):
        before = self.ask("read", key, hold) if self.resource else None
        time.sleep(self.random.uniform(*self.group["holdMs"]) / 1e3)
        if before is None or not before["accepted"]:
            return
        op = self.invoke("write", key, hold=hold)
        accepted = self.ask("write", key, hold, read=before["value"])["accepted"]
        self.record("ok" if accepted else "fail", "write", key, op)

    def ask(self, do, key, hold, **more):
        request = {"id": 1, "do": do, "key": key["id"], "hold": hold, "fenced": self.group["writes"] == "fenced", **more}
        self.resource.write(json.dumps(request) + "\n")
        self.resource.flush()
        return json.loads(self.resource.readline())


worker = None
for line in sys.stdin:
    word = json.loads(line)
    if word["do"] == "about":
        say({"say": "about", "provides": PROVIDES})
    elif word["do"] == "setup":
        worker = Worker(word["setup"])
        say({"say": "ready", "versions": {"python": sys.version.split()[0]}})
    elif word["do"] == "start":
        threading.Thread(target=worker.run, daemon=True).start()
    elif word["do"] == "stop":
        worker.stopping.set()
    elif word["do"] == "abort":
        worker.aborted.set()
os._exit(1)
