"""The counter that only a lock protects, from kazoo's side."""

GRANT_WITHIN_S = 60


def run(client, path, counter_file, log_file, grants, label):
    """
    Takes the lock again and again and, while holding, adds one to the number in the file: two holders at once lose
    an update. Each grant leaves a line `label czxid nodeName countBefore` in a log shared by all contenders; since it
    is written while holding, its order is the order of the grants.
    """
    for _ in range(grants):
        lock = client.Lock(path, label)
        if not lock.acquire(timeout=GRANT_WITHIN_S):
            raise RuntimeError(f"{label}: no grant within {GRANT_WITHIN_S} s")
        try:
            czxid = client.exists(f"{path}/{lock.node}").czxid
            with open(counter_file) as counter:
                text = counter.read()
            if text == "":
                raise RuntimeError(f"{label} found the counter half written: somebody else holds too")
            count = int(text)
            with open(log_file, "a") as log:
                log.write(f"{label} {czxid} {lock.node} {count}\n")
            with open(counter_file, "w") as counter:
                counter.write(str(count + 1))
        finally:
            lock.release()
