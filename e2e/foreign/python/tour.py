"""Every operation that kazoo has for plain nodes, once, with what it says to each."""

from kazoo.exceptions import KazooException
from kazoo.security import make_digest_acl


def run(client, root):
    """Yields `what` and `outcome` by turns: the name of the error, or what is the same on every server."""
    said = []

    def note(what, body):
        try:
            said.extend([what, str(body())])
        except KazooException as error:
            said.extend([what, type(error).__name__])

    client.ensure_path(f"{root}/deep/er")
    note("ensure_path", lambda: client.exists(f"{root}/deep/er").numChildren)
    note("create", lambda: client.create(f"{root}/a", b"one"))
    note("create again", lambda: client.create(f"{root}/a"))
    note("create without a parent", lambda: client.create(f"{root}/no/child"))
    note("create sequential", lambda: client.create(f"{root}/deep/n-", sequence=True))
    note("create with its Stat", lambda: client.create(f"{root}/b", b"xyz", include_data=True)[1].dataLength)
    note("create ephemeral", lambda: client.create(f"{root}/e", ephemeral=True))
    note("its owner", lambda: client.exists(f"{root}/e").owner_session_id == client.client_id[0])
    note("child of an ephemeral", lambda: client.create(f"{root}/e/child"))
    note("get", lambda: client.get(f"{root}/a")[0])
    note("set", lambda: client.set(f"{root}/a", b"two", version=0).version)
    note("set of another version", lambda: client.set(f"{root}/a", b"three", version=0))
    note("get of nothing", lambda: client.get(f"{root}/nothing"))
    note("exists of nothing", lambda: client.exists(f"{root}/nothing"))
    note("children", lambda: sorted(client.get_children(root)))
    note("children with Stat", lambda: client.get_children(root, include_data=True)[1].numChildren)
    note("delete of one with children", lambda: client.delete(f"{root}/deep"))
    note("delete", lambda: client.delete(f"{root}/b"))
    note("sync", lambda: client.sync(root))

    def committed():
        transaction = client.transaction()
        transaction.check(f"{root}/a", 1)
        transaction.create(f"{root}/t", b"t")
        transaction.set_data(f"{root}/t", b"tt")
        transaction.delete(f"{root}/t")
        results = transaction.commit()
        return [getattr(result, "version", result) for result in results]

    def rolled_back():
        transaction = client.transaction()
        transaction.create(f"{root}/t")
        transaction.delete(f"{root}/nothing")
        transaction.create(f"{root}/tt")
        return [type(result).__name__ for result in transaction.commit()]

    note("transaction", committed)
    note("transaction that fails", rolled_back)
    note("what it left", lambda: client.exists(f"{root}/t"))

    client.add_auth("digest", "reader:secret")
    mine = [make_digest_acl("reader", "secret", all=True)]
    note("create for one user", lambda: client.create(f"{root}/mine", b"!", acl=mine))
    note("get by that user", lambda: client.get(f"{root}/mine")[0])
    note("its ACL", lambda: [acl.id.scheme for acl in client.get_acls(f"{root}/mine")[0]])
    note("set ACL of another version", lambda: client.set_acls(f"{root}/a", mine, version=7))
    note("set ACL", lambda: client.set_acls(f"{root}/a", mine).aversion)

    # Behind the children `er` and `n-`. All are sent before the first is awaited.
    answers = [client.create_async(f"{root}/deep/m-", b"", sequence=True) for _ in range(200)]
    numbers = [answer.get(30)[-10:] for answer in answers]
    note("200 at once", lambda: numbers == [f"{number:010}" for number in range(2, 202)])
    client.delete(root, recursive=True)
    note("delete recursively", lambda: client.exists(root))
    return said
