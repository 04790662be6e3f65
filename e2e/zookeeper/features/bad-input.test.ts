import { InvalidArgumentError, UnsupportedError } from "@holdfast/core";
import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator } from "./operator.js";
import { rejection, thrown } from "./rejection.js";

/** No server listens there. These tests need none, because the input is refused before any I/O. */
const nowhere = "127.0.0.1:1";

const make = (options: unknown): ZooKeeperLocks => {
  const locks = zookeeperLocks(options as ZooKeeperLocksOptions);
  onTestFinished(async () => void (await locks.close()));
  return locks;
};

describe("the factory refuses at once, naming what to change:", () => {
  it.each<[unknown, RegExp]>([
    [undefined, /exactly one of the options connect and client/],
    [null, /options must be an object/],
    ["127.0.0.1:2181", /options must be an object/],
    [{}, /exactly one of the options connect and client/],
    [{ connect: nowhere, client: {} }, /exactly one of the options connect and client/],
    [{ client: {} }, /client must be a client of node-zookeeper-client 1\.1\.3/],
    [{ client: 5 }, /client must be an object; got 5/],
    [{ connect: 2181 }, /connect must be a string; got 2181/],
    [{ connect: nowhere, sesionTimeoutMs: 5 }, /"sesionTimeoutMs"; did you mean sessionTimeoutMs\?/],
    [{ connect: nowhere, servers: [] }, /does not know the option "servers".*Known: .*connect/],
    [
      { connect: nowhere, sessionTimeoutMs: "30s" },
      /sessionTimeoutMs must be a number of milliseconds.*"30s"/,
    ],
    [{ connect: nowhere, sessionTimeoutMs: 0 }, /sessionTimeoutMs must be/],
    [{ connect: nowhere, sessionTimeoutMs: Number.NaN }, /sessionTimeoutMs must be/],
    [{ connect: nowhere, sessionTimeoutMs: Number.POSITIVE_INFINITY }, /sessionTimeoutMs must be/],
    [{ connect: nowhere, sessionTimeoutMs: 1.5 }, /sessionTimeoutMs must be/],
    [{ connect: nowhere, connectTimeoutMs: -1 }, /connectTimeoutMs must be/],
    [{ connect: nowhere, releaseTimeoutMs: {} }, /releaseTimeoutMs must be/],
    [{ connect: nowhere, defaultWaitMs: "forever" }, /defaultWaitMs must be/],
    [{ connect: nowhere, identity: "yes" }, /identity must be true or false; got "yes"/],
    [{ connect: nowhere, detectDeadlocks: 1 }, /detectDeadlocks must be true or false/],
    [{ connect: nowhere, retry: {} }, /retry must be an object with the method next\(\)/],
    [{ connect: nowhere, runtime: { nowMs() {} } }, /runtime must be an object with the method wallMs\(\)/],
    [{ connect: nowhere, namespace: 7 }, /namespace must be a string/],
    [{ connect: nowhere, namespace: "a//b" }, /option namespace "\/a\/\/b"/],
    [{ connect: nowhere, namespace: "a/" }, /option namespace/],
    [{ connect: nowhere, namespace: "../up" }, /option namespace/],
    [{ connect: nowhere, root: "relative" }, /option root "relative"/],
    [{ connect: nowhere, root: "/a/./b" }, /option root/],
    [{ connect: nowhere, root: "" }, /option root/],
    [{ connect: nowhere, acl: [] }, /acl must be a list of at least one \{ perms, scheme, id \}/],
    [{ connect: nowhere, acl: [{ perms: "all", scheme: "world", id: "anyone" }] }, /acl must be a list/],
    [{ connect: nowhere, acl: "world:anyone" }, /acl must be a list/],
    [{ connect: nowhere, acl: [null] }, /acl must be a list/],
    [
      { connect: nowhere, auth: { scheme: "digest", auth: "a:b" } },
      /auth must be a list of \{ scheme, auth \}/,
    ],
    [{ connect: nowhere, auth: "a:b" }, /auth must be a list/],
    [{ connect: nowhere, auth: [null] }, /auth must be a list/],
    [{ connect: nowhere, auth: [{ scheme: "", auth: "a:b" }] }, /auth: scheme must be a non-empty string/],
    [{ connect: nowhere, auth: [{ scheme: "digest", auth: 5 }] }, /auth: the credentials of scheme "digest"/],
    [{ connect: nowhere, tls: true }, /tls must be an object/],
    [{ connect: nowhere, leaseProof: "write" }, /leaseProof must be "sync" or "quorum"/],
  ])("%j", (options, message) => {
    const error = thrown(() => make(options));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ code: "HF_INVALID_ARGUMENT", retryable: false });
    expect(error.message).toMatch(message);
  });

  it.each<[string, RegExp]>([
    ["", /a server is missing/],
    [",", /a server is missing/],
    ["h1:2181,", /a server is missing/],
    ["/app", /a server is missing/],
    ["h1:port", /the port of "h1:port" must be a number from 1 to 65535/],
    ["h1:0", /the port of "h1:0"/],
    ["h1:70000", /the port of "h1:70000"/],
    ["h1:2181:2182", /more than one colon/],
    ["::1", /IPv6 addresses go in brackets/],
    ["[::1", /not an IPv6 address in brackets/],
    ["zk://h1:2181", /it is no URL: leave out "zk:\/\/"/],
    ["h 1:2181", /names no host/],
    ["h1:2181/app,h2:2181", /one chroot follows the last server/],
    ["h1:2181/app//x", /the chroot/],
    ["h1:2181/app/", /the chroot/],
    ["h1:2181/..", /the chroot/],
    ["h1:2181/a\u0000b", /the chroot/],
  ])("the connect string %j", (connect, message) => {
    const error = thrown(() => make({ connect }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toContain("connect string");
    expect(error.message).toMatch(message);
  });

  it.each(["sasl", "SASL", "kerberos"])("the scheme %s, which it does not have", (scheme) => {
    const error = thrown(() => make({ connect: nowhere, auth: [{ scheme, auth: "x" }] }));
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toMatchObject({ code: "HF_UNSUPPORTED", retryable: false });
    expect(error.message).toMatch(/SASL.*"digest"/);
  });

  it.each(["sessionTimeoutMs", "auth", "tls"])("%s beside a client, which has its own", (key) => {
    const error = thrown(() =>
      make({ client: {}, [key]: key === "sessionTimeoutMs" ? 5_000 : key === "auth" ? [] : {} }),
    );
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toContain(`${key} belongs to the session`);
  });
});

describe("a lock", () => {
  let locks: ZooKeeperLocks;
  beforeEach(() => {
    locks = make({ connect: nowhere });
  });

  it.each<[unknown, RegExp]>([
    ["", /must not be empty/],
    [undefined, /must be a string; got undefined/],
    [42, /must be a string; got 42/],
    ["x".repeat(513), /at most 512 bytes.*has 513/],
    ["ä".repeat(257), /at most 512 bytes.*has 514/],
    ["\ud800", /half of a surrogate pair/],
    ["/", /"\/" is the root; name a path below it/],
    ["/a//b", /lock name "\/a\/\/b"/],
    ["/a/", /lock name "\/a\/"/],
    ["/a/../b", /lock name "\/a\/\.\.\/b"/],
    ["/a/./b", /lock name/],
    ["/a\u0000b", /lock name/],
    ["/a\u0001b", /lock name/],
    ["/a\ufff0b", /lock name/],
    ["/a\ud800b", /lock name|surrogate/],
    ["/zookeeper\ud800", /lock name|surrogate/],
  ])("named %j is refused by mutex() and reentrantMutex() themselves", (name, message) => {
    for (const work of [() => locks.mutex(name as string), () => locks.reentrantMutex(name as string)]) {
      const error = thrown(work);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(error.message).toMatch(message);
    }
  });

  it.each<[unknown, RegExp]>([
    [{ waitms: 5 }, /"waitms"; did you mean waitMs\?/],
    [{ timeout: 5 }, /does not know the option "timeout"/],
    [{ waitMs: "5" }, /waitMs must be a number of milliseconds.*"5"/],
    [{ waitMs: -1 }, /waitMs must be/],
    [{ waitMs: Number.NaN }, /waitMs must be/],
    [{ signal: new AbortController() }, /signal must be an AbortSignal.*pass its \.signal/],
    [{ leaseMs: 0 }, /leaseMs must be/],
    [{ renew: "no" }, /renew must be true or false/],
    [{ revocable: 1 }, /revocable must be true or false/],
    [{ label: 7 }, /label must be a string/],
    [5_000, /options must be an object; got 5000/],
  ])("refuses the options %j, of the view and of each call", async (options, message) => {
    const asked = options as { waitMs: number };
    expect(thrown(() => locks.mutex("x", asked)).message).toMatch(message);
    for (const work of [
      () => locks.mutex("x").acquire(asked),
      () => locks.mutex("x").tryAcquire(asked),
      () => locks.reentrantMutex("x").acquire(asked),
      () => locks.mutex("x").withLock(asked, () => expect.fail("the body must not run")),
    ]) {
      const { error, tookMs } = await rejection(work);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(error.message).toMatch(message);
      expect(tookMs).toBeLessThan(5_000);
    }
  });

  it.each([-1, 1.5, Number.NaN, "many"])("refuses to inspect with maxPending %j", async (maxPending) => {
    const { error, tookMs } = await rejection(() =>
      locks.mutex("x").inspect({ maxPending: maxPending as number }),
    );
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.message).toContain("maxPending");
    expect(tookMs).toBeLessThan(5_000);
  });

  it("refuses wrong arguments of inspect() and requestRevoke()", async () => {
    for (const work of [
      () => locks.mutex("x").inspect({ signal: "now" as unknown as AbortSignal }),
      () => locks.mutex("x").requestRevoke({ signal: 1 as unknown as AbortSignal }),
      () => locks.ready({ waitMs: -5 }),
      () => locks.close({ releaseTimeoutMs: -5 }),
    ]) {
      const { error, tookMs } = await rejection(work);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(tookMs).toBeLessThan(5_000);
    }
  });
});

describe("what only a server can find wrong", () => {
  let server: ZooKeeperNode;
  beforeAll(async () => {
    server = await startZooKeeper();
  });
  afterAll(() => server.stop());

  it("a chroot that does not exist is named at once, and not made", async () => {
    const locks = await connected(`${server.connectString}/no/such/place`);
    for (const work of [
      () => locks.mutex("x").acquire({ waitMs: 10_000 }),
      () => locks.mutex("/x").tryAcquire(),
      () => locks.mutex("x").inspect(),
      () => locks.mutex("x").requestRevoke(),
    ]) {
      const { error, tookMs } = await rejection(work);
      expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
      expect(error.message).toMatch(/chroot \/no\/such\/place does not exist.*connect string/);
      expect(error.message).toContain(server.connectString);
      expect(tookMs).toBeLessThan(9_000);
    }
    const operator = await Operator.connect(server.connectString);
    expect(await operator.exists("/no")).toBe(false);
  });

  it("a lock below an ephemeral node, such as another lock's holder, is refused at once", async () => {
    const locks = await connected(server.connectString);
    await using _ = await locks.mutex("/below").acquire();
    const operator = await Operator.connect(server.connectString);
    const holder = await operator.onlyChild("/below");
    const { error, tookMs } = await rejection(() =>
      locks.mutex(`${holder}/deeper`).acquire({ waitMs: 10_000 }),
    );
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(error.message).toMatch(/ephemeral node/);
    expect(tookMs).toBeLessThan(9_000);
  });

  it("an ACL that the server does not take names the option", async () => {
    const locks = await connected(server.connectString, {
      acl: [{ perms: 31, scheme: "nonesuch", id: "x" }],
    });
    const { error } = await rejection(() => locks.mutex("/acl").acquire({ waitMs: 5_000 }));
    expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(error.message).toMatch(/InvalidACL.*options acl and auth/);
    const operator = await Operator.connect(server.connectString);
    expect(await operator.exists("/acl")).toBe(false);
  });
});
