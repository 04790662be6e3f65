"""
Leaves behind what kazoo's recipes make: one tree for each under the root that is given. Tells `! ready <version>` once all
nodes are there, and goes without closing its sessions when stdin ends.

    trees.py <folder with line.py> <hosts> <root>
"""

import os
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])

import kazoo.version
from kazoo.client import KazooClient

import line

WITHIN_S = 20


def client():
    made = KazooClient(hosts=sys.argv[2], timeout=10)
    made.start(timeout=WITHIN_S)
    return made


a, b = client(), client()
root = sys.argv[3]


def path(name):
    return f"{root}/{name}"


def later(work, where, count):
    """Runs on a thread that may wait for ever, until `where` has so many children."""
    threading.Thread(target=work, daemon=True).start()
    until = time.monotonic() + WITHIN_S
    while not a.exists(where) or len(a.get_children(where)) < count:
        if time.monotonic() > until:
            raise TimeoutError(f"{where} never had {count} children")
        time.sleep(0.02)


a.Lock(path("lock"), "lock-A").acquire()
later(b.Lock(path("lock"), "lock-B").acquire, path("lock"), 2)

a.ReadLock(path("readers"), "read-A").acquire()
b.ReadLock(path("readers"), "read-B").acquire()
later(a.WriteLock(path("readers"), "write-A").acquire, path("readers"), 3)
later(b.ReadLock(path("readers"), "read-B2").acquire, path("readers"), 4)

a.WriteLock(path("writer"), "write-A").acquire()
later(b.ReadLock(path("writer"), "read-B").acquire, path("writer"), 2)

a.Semaphore(path("semaphore"), "permit-A", max_leases=2).acquire()
b.Semaphore(path("semaphore"), "permit-B", max_leases=2).acquire()
later(a.Semaphore(path("semaphore"), "permit-C", max_leases=2).acquire, path("semaphore-__lock__"), 1)

later(a.DoubleBarrier(path("gathering"), 2, "member-A").enter, path("gathering"), 1)
later(a.DoubleBarrier(path("gathered"), 2, "member-A").enter, path("gathered"), 1)
b.DoubleBarrier(path("gathered"), 2, "member-B").enter()

a.Barrier(path("barrier")).create()
counter = a.Counter(path("counter"))
counter += 3
a.Party(path("party"), "member-A").join()

line.event("ready", kazoo.version.__version__)
sys.stdin.read()
os._exit(0)
