"""
A kazoo process steered over stdin and stdout, so that tests in another language can stand in one queue with it.

    in    id command argument...
    out   id ok value...
          id error ExceptionClass message
          ! event value...

Commands run at the same time, each on a thread of its own, and answer when they are done, in any order. When stdin
ends the process goes at once without closing its sessions; `close` is the orderly way to end one.
"""

import os
import sys
import threading
import traceback

import kazoo.version
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

import contender
import line
import tour

CONNECT_WITHIN_S = 15

clients = {}
locks = {}
watches = {}


def connect(name, hosts, session_timeout_ms):
    # Its pause between two tries doubles up to a minute by default, and no test waits so long.
    retry = {"max_tries": -1, "max_delay": 1.0}
    client = KazooClient(hosts=hosts, timeout=int(session_timeout_ms) / 1000, connection_retry=retry)
    client.add_listener(lambda state: line.event("state", name, state))
    client.start(timeout=CONNECT_WITHIN_S)
    clients[name] = client


def session(name):
    """Id in hex, unsigned, and password in hex."""
    session_id, password = clients[name].client_id
    return f"{session_id & 0xFFFFFFFFFFFFFFFF:x}", password.hex()


def close(name):
    client = clients.pop(name)
    client.stop()
    client.close()


def lock(name, client, path, identifier):
    locks[name] = clients[client].Lock(path, identifier)


def acquire(name, wait_ms):
    """0 asks once without waiting; negative waits for ever. Answers true with node path and czxid, or false."""
    wait_ms = int(wait_ms)
    held = locks[name]
    try:
        if wait_ms == 0:
            granted = held.acquire(blocking=False)
        else:
            granted = held.acquire(timeout=None if wait_ms < 0 else wait_ms / 1000)
    except LockTimeout:
        granted = False
    if not granted:
        return ("false",)
    path = f"{held.path}/{held.node}"
    return "true", path, held.client.exists(path).czxid


def release(name):
    return (str(locks[name].release()).lower(),)


def watch_data(name, client, path):
    """Tells of every state of a node: `data <watch> absent`, or `data <watch> present <data> <version>`."""

    def changed(data, stat):
        if stat is None:
            line.event("data", name, "absent")
        else:
            line.event("data", name, "present", (data or b"").decode(), stat.version)

    watches[name] = clients[client].DataWatch(path, changed)


def watch_children(name, client, path):
    """Tells of every list of children, sorted: `children <watch> <name>...`."""

    def changed(children):
        line.event("children", name, *sorted(children))

    watches[name] = clients[client].ChildrenWatch(path, changed)


def node(name, verb, path, data=""):
    client = clients[name]
    if verb == "create":
        return (client.create(path, data.encode(), makepath=True),)
    if verb == "create-ephemeral":
        return (client.create(path, data.encode(), ephemeral=True, makepath=True),)
    if verb == "set":
        return (client.set(path, data.encode()).version,)
    if verb == "delete":
        client.delete(path)
        return ()
    if verb == "exists":
        return (str(client.exists(path) is not None).lower(),)
    if verb == "children":
        return sorted(client.get_children(path))
    raise ValueError(f"no such verb: {verb}")


def contend(name, path, counter_file, log_file, grants, label):
    contender.run(clients[name], path, counter_file, log_file, int(grants), label)


commands = {
    "connect": connect,
    "session": session,
    "close": close,
    "lock": lock,
    "acquire": acquire,
    "release": release,
    "cancel": lambda name: locks[name].cancel(),
    "contenders": lambda name: locks[name].contenders(),
    "watchData": watch_data,
    "watchChildren": watch_children,
    "node": node,
    "contend": contend,
    "tour": lambda name, root: tour.run(clients[name], root),
}


def answer(request_id, command, arguments):
    try:
        values = commands[command](*arguments) or ()
        line.tell(request_id, "ok", *values)
    except BaseException as failure:
        traceback.print_exc(file=sys.stderr)
        line.tell(request_id, "error", type(failure).__name__, failure)


line.event("started", kazoo.version.__version__)
for text in sys.stdin:
    request_id, command, *arguments = line.split(text)
    threading.Thread(target=answer, args=(request_id, command, arguments), daemon=True).start()
os._exit(0)
