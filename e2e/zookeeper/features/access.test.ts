import { createHash } from "node:crypto";
import { BackendError, type ReleaseOutcome } from "@holdfast/core";
import { eventually, startProxy, startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { type Acl, Perms, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator } from "./operator.js";
import { rejection } from "./rejection.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());

const alice = "alice:secret";
const bob = "bob:hunter2";
const all = Perms.ALL;

/** The id under which a server knows a digest user: the name and the hash of the pair. */
const digestId = (user: string): string =>
  `${user.split(":")[0]}:${createHash("sha1").update(user).digest("base64")}`;

const onlyFor = (user: string, perms: number = all): Acl => ({ perms, scheme: "digest", id: digestId(user) });

function as(user: string, options: ZooKeeperLocksOptions = {}) {
  return connected(server.connectString, { auth: [{ scheme: "digest", auth: user }], ...options });
}

describe("the option acl", () => {
  it("is set on the own node and on the parents made for it", async () => {
    const locks = await as(alice, { acl: [{ perms: all, scheme: "auth", id: "" }] });
    await using handle = await locks.mutex("/private/a/lock").acquire();
    expect(handle.state).toBe("held");
    const operator = await Operator.connect(server.connectString, alice);
    const node = await operator.onlyChild("/private/a/lock");
    for (const path of ["/private", "/private/a", "/private/a/lock", node]) {
      expect(await operator.acl(path), path).toEqual([`digest:${digestId(alice)}:${all}`]);
    }
  });

  it("may be a function of the path", async () => {
    const asked: string[] = [];
    const acl = (path: string): Acl[] => {
      asked.push(path);
      return path === "/by-path" ? [onlyFor(alice), onlyFor(bob, Perms.READ)] : [onlyFor(alice)];
    };
    const locks = await as(alice, { acl });
    await using _ = await locks.mutex("/by-path/lock").acquire();
    const operator = await Operator.connect(server.connectString, alice);
    const node = await operator.onlyChild("/by-path/lock");
    expect(await operator.acl("/by-path")).toEqual([
      `digest:${digestId(alice)}:${all}`,
      `digest:${digestId(bob)}:${Perms.READ}`,
    ]);
    expect(await operator.acl(node)).toEqual([`digest:${digestId(alice)}:${all}`]);
    // The server adds the number at the end of the node's name, so the function is asked about the path without it.
    expect(new Set(asked)).toEqual(new Set(["/by-path", "/by-path/lock", node.slice(0, -10)]));
  });

  it("lets those in whom it names: they exclude each other", async () => {
    const acl = [onlyFor(alice), onlyFor(bob)];
    const [one, other] = await Promise.all([as(alice, { acl }), as(bob, { acl })]);
    const first = await one.mutex("/shared/lock").acquire();
    expect(await other.mutex("/shared/lock").tryAcquire()).toBeNull();
    const waiting = other.mutex("/shared/lock").acquire({ waitMs: 10_000 });
    await eventually(async () => (await one.mutex("/shared/lock").inspect()).pendingTotal === 1, {
      what: "the other in the queue",
    });
    await first.release();
    expect(await (await waiting).release()).toBe("released");
  });

  it.each([
    [
      "throws",
      () => {
        throw new TypeError("no such tenant");
      },
      /acl.*no such tenant/,
    ],
    ["returns nothing", () => [], /acl\("\/broken/],
  ])("that %s for a parent rejects the acquire alone", async (what, broken, message) => {
    const name = `/broken-${what.split(" ")[0]}/lock`;
    const locks = await as(alice, { acl: (path) => (path === name ? broken() : [onlyFor(alice)]) });
    const { error } = await rejection(() => locks.mutex(name).acquire({ waitMs: 5_000 }));
    expect(error).toMatchObject({ code: "HF_INVALID_ARGUMENT", retryable: false });
    expect(error.message).toMatch(message);
    await using other = await locks.mutex("/sound/lock").acquire();
    expect(other.state).toBe("held");
  });
});

describe("a client without permission", () => {
  const path = "/members-only/lock";

  it("is refused at once, with a hint at auth and acl, and leaves nothing", async () => {
    const locks = await as(alice, { acl: [onlyFor(alice)] });
    const holder = await locks.mutex(path).acquire();
    const stranger = await as(bob);
    for (const work of [
      () => stranger.mutex(path).acquire({ waitMs: 10_000 }),
      () => stranger.mutex(path).tryAcquire(),
      () => stranger.mutex(`${path}/below`).acquire({ waitMs: 10_000 }),
      () => stranger.mutex(path).inspect(),
      () => stranger.mutex(path).requestRevoke(),
    ]) {
      const { error, tookMs } = await rejection(work);
      expect(error).toBeInstanceOf(BackendError);
      expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false, backend: "zookeeper" });
      expect(error.message).toMatch(/NoAuth.*options auth and acl/);
      expect(error.message).toContain("/members-only/lock");
      expect(tookMs).toBeLessThan(9_000);
    }
    const operator = await Operator.connect(server.connectString, alice);
    expect(await operator.children(path)).toHaveLength(1);
    await holder.release();
    expect(await operator.children(path)).toEqual([]);
  });

  it("that may queue but not read the node ahead is refused at once, and leaves nothing", async () => {
    const [locks, guest] = await Promise.all([
      as(alice, {
        acl: (path) => (path.endsWith("-lock-") ? [onlyFor(alice)] : [onlyFor(alice), onlyFor(bob)]),
      }),
      as(bob, { acl: [onlyFor(alice), onlyFor(bob)] }),
    ]);
    const holder = await locks.mutex("/blind/lock").acquire();
    const { error, tookMs } = await rejection(() => guest.mutex("/blind/lock").acquire({ waitMs: 60_000 }));
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(error.message).toMatch(/NoAuth.*options auth and acl/);
    expect(tookMs).toBeLessThan(50_000);
    const operator = await Operator.connect(server.connectString, alice);
    expect(await operator.children("/blind/lock")).toHaveLength(1);
    await holder.release();
  });

  it("who may queue but not delete gets the release refused; the node goes with the session", async () => {
    const operator = await Operator.connect(server.connectString, alice);
    await operator.create("/no-way-out", {
      acl: [onlyFor(alice), onlyFor(bob, Perms.READ | Perms.WRITE | Perms.CREATE)],
    });
    const locks = await as(bob, { acl: [onlyFor(bob), onlyFor(alice)] });
    const refused: unknown[] = [];
    locks.events.on("release-failed", ({ reason }) => refused.push(reason));
    const handle = await locks.mutex("/no-way-out").acquire();
    const { error } = await rejection(() => handle.release());
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(error.message).toMatch(/NoAuth.*options auth and acl/);
    expect(refused).toEqual(["refused"]);
    expect(await operator.children("/no-way-out")).toHaveLength(1);
    await locks.close();
    expect(await operator.children("/no-way-out")).toEqual([]);

    // `withLock` returns the result of its body and reports the refused release by the event alone.
    const again = await as(bob, { acl: [onlyFor(bob), onlyFor(alice)] });
    again.events.on("release-failed", ({ reason }) => refused.push(reason));
    expect(await again.mutex("/no-way-out").withLock(() => "done")).toBe("done");
    expect(refused).toEqual(["refused", "refused"]);
  });
});

describe("the option auth", () => {
  it("that the server refuses is named at once, by ready() and by every acquire", async () => {
    const locks = zookeeperLocks({
      connect: server.connectString,
      auth: [{ scheme: "carrier-pigeon", auth: "coo" }],
    });
    onTestFinished(async () => void (await locks.close()));
    for (const work of [() => locks.ready(), () => locks.mutex("/refused").acquire()]) {
      const { error, tookMs } = await rejection(work);
      expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
      expect(error.message).toContain("option auth");
      expect(tookMs).toBeLessThan(9_000);
    }
    expect(locks.state).toBe("lost");
    const operator = await Operator.connect(server.connectString);
    expect(await operator.exists("/refused")).toBe(false);
  });

  it("is sent again after a reconnect", async () => {
    const proxy = await startProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const auth = [{ scheme: "digest", auth: alice }];
    const locks = await connected(proxy.connectString, { auth, acl: [onlyFor(alice)] });
    await using handle = await locks.mutex("/again/lock").acquire();
    const outcomes: ReleaseOutcome[] = [];
    let back = 0;
    locks.events.on("session-state", ({ state }) => {
      if (state === "connected") back++;
    });
    proxy.resetAll();
    await eventually(() => back > 0 && handle.state === "held", { what: "the hold confirmed" });
    const second = await locks.mutex("/again/second").acquire();
    outcomes.push(await second.release(), await handle.release());
    expect(outcomes).toEqual(["released", "released"]);
  });
});
