import { AddWatchMode, CreateFlags, errorCodes, openAcl } from "@holdfast/zk-protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type EmbeddedZooKeeper,
  eventually,
  type FaultAction,
  type FaultRules,
  type HoldPoint,
  startEmbeddedZooKeeper,
  startZooKeeper,
  startZooKeeperProxy,
  TestServerError,
  type ZooKeeperNode,
} from "../src/index.js";
import { Wire } from "./embedded/support/wire.js";
import { WireClient } from "./support/wire-client.js";

/** A server with faults, and `direct`, a way to it without faults. */
interface Subject extends AsyncDisposable {
  readonly faults: FaultRules;
  readonly host: string;
  readonly port: number;
  readonly direct: string;
}

let real: ZooKeeperNode;
let embedded: EmbeddedZooKeeper;

beforeAll(async () => {
  real = await startZooKeeper();
  embedded = await startEmbeddedZooKeeper();
});

afterAll(async () => {
  await embedded?.stop();
  await real?.stop();
});

const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  "the embedded server": async () => ({
    faults: embedded.faults,
    host: embedded.host,
    port: embedded.port,
    direct: embedded.connectString,
    [Symbol.asyncDispose]: async () => embedded.faults.clear(),
  }),
  "the proxy of a real one": async () => {
    const proxy = await startZooKeeperProxy({ target: real.connectString });
    return {
      faults: proxy.faults,
      host: proxy.host,
      port: proxy.port,
      direct: real.connectString,
      [Symbol.asyncDispose]: () => proxy.close(),
    };
  },
};

let round = 0;

describe.each(Object.entries(subjects))("with %s", (_name, start) => {
  let subject: Subject;
  let client: WireClient;
  let direct: WireClient;
  let own: bigint;
  /** A node that only this test uses. */
  let path: string;
  const clients: WireClient[] = [];

  const here = () => `${subject.host}:${subject.port}`;
  const open = async (where: string, options = {}): Promise<WireClient> => {
    const opened = await WireClient.connect(where, options);
    clients.push(opened);
    return opened;
  };
  const createOf = (at: string, flags: number = CreateFlags.persistent) =>
    ["create", { path: at, data: null, acl: openAcl, flags }] as const;
  const applied = (at: string) =>
    eventually(() => direct.exists(at), { what: `${at} to be there`, everyMs: 5 });
  const gone = (at: string) =>
    eventually(async () => !(await direct.exists(at)), { what: `${at} to go`, everyMs: 5 });
  /** Whether a promise is still open after two round trips that were sent later. */
  const stillOpen = async (promise: Promise<unknown>): Promise<boolean> => {
    let settled = false;
    const settle = () => {
      settled = true;
    };
    promise.then(settle, settle);
    await direct.exists("/");
    await direct.exists("/");
    return !settled;
  };

  beforeEach(async () => {
    subject = await start();
    client = await open(here());
    direct = await open(subject.direct);
    own = client.session.sessionId;
    path = `/parity-${++round}`;
  });

  afterEach(async () => {
    for (const each of clients.splice(0)) await each.close();
    await subject[Symbol.asyncDispose]();
  });

  /** Sets a fault for the first match on the client's own session. */
  const on = (action: FaultAction, nth = 1) =>
    subject.faults.on({ session: own, op: ["create", "exists"], path: new RegExp(`^${path}`), nth }, action);

  test.each([{}, { reset: true }])("close %j before: not applied, connection gone", async (options) => {
    const fault = on({ do: "close", ...options });
    await expect(client.create(path)).rejects.toThrow("connection lost");
    expect(await direct.exists(path)).toBe(false);
    expect(fault.hits).toMatchObject([{ target: "create", session: own, paths: [path], xid: 1 }]);
  });

  test.each([{}, { reset: true }])(
    "close %j when applied: applied, no answer, nothing behind it is",
    async (options) => {
      on({ do: "close", when: "applied", ...options });
      const [reply] = client.batch(createOf(path), createOf(`${path}-behind`));
      await expect(reply).rejects.toThrow("connection lost");
      await applied(path);
      expect(await direct.exists(`${path}-behind`)).toBe(false);
    },
  );

  test("drop: neither applied nor answered, and the connection goes on", async () => {
    on({ do: "drop" });
    const [lost, behind] = client.batch(createOf(path), createOf(`${path}-behind`));
    expect((await behind)?.err).toBe(0);
    expect(await direct.exists(path)).toBe(false);
    expect(await stillOpen(lost as Promise<unknown>)).toBe(true);
    expect(client.ended).toBe(false);
  });

  test("a dropped ping does not take the answer of the next", async () => {
    subject.faults.on({ session: own, op: "ping" }, { do: "drop" });
    const second = subject.faults.on(
      { session: own, op: "ping", nth: 2 },
      { do: "answer", err: "SystemError" },
    );
    // Both pings have the same xid, so the client takes the only answer for the first one's.
    const [first] = client.batch(["ping", undefined], ["ping", undefined]);
    await second.reached();
    expect((await first)?.err).toBe(errorCodes.SystemError);
  });

  test("no-reply: applied, and so is what is behind it, but no answer comes ever", async () => {
    on({ do: "no-reply" });
    const [lost, behind] = client.batch(createOf(path), createOf(`${path}-behind`));
    await applied(path);
    await applied(`${path}-behind`);
    const ping = client.send("ping", undefined);
    for (const each of [lost, behind, ping]) expect(await stillOpen(each as Promise<unknown>)).toBe(true);
    expect(client.ended).toBe(false);
  });

  test.each<[HoldPoint, boolean, boolean]>([
    ["frame", false, false],
    ["prep", false, false],
    ["applied", true, false],
    ["reply", true, true],
  ])(
    "hold at %s: applied %j, the next one applied %j, answered in order on release",
    async (at, first, next) => {
      const fault = on({ do: "hold", at });
      const [held, behind] = client.batch(createOf(path), createOf(`${path}-behind`));
      await fault.reached();
      if (first) await applied(path);
      if (next) await applied(`${path}-behind`);
      expect(await stillOpen(held as Promise<unknown>)).toBe(true);
      expect(await direct.exists(path)).toBe(first);
      expect(await direct.exists(`${path}-behind`)).toBe(next);
      fault.release();
      const replies = await Promise.all([held, behind]);
      expect(replies.map((reply) => [reply?.xid, reply?.err])).toEqual([
        [1, 0],
        [2, 0],
      ]);
    },
  );

  test.each<HoldPoint>(["frame", "prep", "applied", "reply"])(
    "hold at %s for a time ends by itself",
    async (at) => {
      on({ do: "hold", at, forMs: 60 });
      const startedMs = performance.now();
      await client.create(path);
      expect(performance.now() - startedMs).toBeGreaterThan(50);
    },
  );

  test("withhold: the answer waits for the next request", async () => {
    const fault = on({ do: "withhold" });
    const reply = client.create(path);
    await fault.reached();
    await applied(path);
    expect(await stillOpen(reply)).toBe(true);
    await client.send("ping", undefined);
    expect(await reply).toBe(path);
  });

  test("answer: an error at exactly the second match, in its turn, not applied", async () => {
    on({ do: "answer", err: "NodeExists" }, 2);
    const names = [path, `${path}-2`, `${path}-3`] as const;
    const replies = await Promise.all(client.batch(...names.map((name) => createOf(name))));
    expect(replies.map(({ xid, err }) => [xid, err])).toEqual([
      [1, 0],
      [2, errorCodes.NodeExists],
      [3, 0],
    ]);
    expect(await Promise.all(names.map((name) => direct.exists(name)))).toEqual([true, false, true]);
    expect(replies[1]?.zxid).toBeGreaterThanOrEqual(replies[0]?.zxid ?? 0n);
  });

  test("answer and apply: an error for what was done", async () => {
    on({ do: "answer", err: "OperationTimeout", apply: true });
    expect((await client.send(...createOf(path))).err).toBe(errorCodes.OperationTimeout);
    expect(await direct.exists(path)).toBe(true);
  });

  test("a refused authentication ends the connection behind its answer", async () => {
    subject.faults.on({ session: own, op: "auth" }, { do: "answer", err: "AuthFailed" });
    const auth = { type: 0, scheme: "digest", auth: Buffer.from("a:b") };
    client.send("auth", auth).catch(() => {});
    await client.closed;
    expect(await direct.exists("/")).toBe(true);
  });

  test("unknown-op: an error, and then the end", async () => {
    on({ do: "unknown-op" });
    const [refused, behind] = client.batch(createOf(path), createOf(`${path}-behind`));
    expect(await refused).toMatchObject({ err: errorCodes.Unimplemented, zxid: -1n });
    await expect(behind).rejects.toThrow("connection lost");
    await client.closed;
    expect(await direct.exists(path)).toBe(false);
    expect(await direct.exists(`${path}-behind`)).toBe(false);
  });

  test.each(["close", "stall"] as const)(
    "cut-reply after 10 bytes, then %s: applied, in mid-frame",
    async (next) => {
      const wire = await Wire.open(subject);
      const before = wire.bytes;
      subject.faults.on({ op: "create", path }, { do: "cut-reply", bytes: 10, next });
      const replies = wire.askAll(createOf(path));
      await eventually(() => wire.bytes >= before + 10, { what: "a piece of the reply", everyMs: 5 });
      if (next === "close") await wire.closed();
      expect(wire.ended).toBe(next === "close");
      await applied(path);
      await direct.exists("/");
      expect(wire.bytes).toBe(before + 10);
      expect(replies).toHaveLength(1);
      wire.destroy();
    },
  );

  test("grow-reply: a longer frame with the same answer", async () => {
    const wire = await Wire.open(subject);
    subject.faults.on({ op: "create", path }, { do: "grow-reply", bytes: 5_000 });
    expect((await wire.ask(...createOf(path))).response).toEqual({ path });
    expect(wire.frames.at(-1)).toHaveLength(5_000);
    wire.destroy();
  });

  test("expire before: the session is over, its nodes are gone, the request was not applied", async () => {
    await client.create(`${path}-mine`, CreateFlags.ephemeral);
    on({ do: "expire" });
    await expect(client.exists(path)).rejects.toThrow("connection lost");
    await gone(`${path}-mine`);
    await expect(WireClient.connect(here(), { session: client.session })).rejects.toThrow("session expired");
  });

  test("expire when applied: the answer is the last that comes", async () => {
    await client.create(`${path}-mine`, CreateFlags.ephemeral);
    on({ do: "expire", when: "applied" });
    expect(await client.create(path)).toBe(path);
    await client.closed;
    await gone(`${path}-mine`);
    expect(await direct.exists(path)).toBe(true);
  });

  test.each(["before", "applied"] as const)(
    "expire silently %s: nodes gone, and the client hears nothing",
    async (when) => {
      await client.create(`${path}-mine`, CreateFlags.ephemeral);
      on({ do: "expire", when, silent: true });
      const lost = client.create(path);
      await gone(`${path}-mine`);
      expect(await direct.exists(path)).toBe(when === "applied");
      const ping = client.send("ping", undefined);
      for (const each of [lost, ping]) expect(await stillOpen(each)).toBe(true);
      expect(client.ended).toBe(false);
    },
  );

  test("lose-watch: the read is answered, its watch is not there", async () => {
    const all = { session: own, path, times: 9 };
    subject.faults.on({ ...all, op: ["exists", "addWatch", "setWatches"] }, { do: "lose-watch" });
    await client.send("exists", { path, watch: true });
    expect(await client.send("addWatch", { path, mode: AddWatchMode.persistent })).toMatchObject({
      err: 0,
      response: { err: 0 },
    });
    await client.send("exists", { path: `${path}-marker`, watch: true });
    await direct.create(path);
    await direct.create(`${path}-marker`);
    await eventually(() => client.events.length > 0, { what: "the marker", everyMs: 5 });
    expect(client.events.map((event) => event.path)).toEqual([`${path}-marker`]);
  });

  test("lose-watch: none of those that a client sets anew after a reconnection", async () => {
    subject.faults.on({ session: own, op: "setWatches" }, { do: "lose-watch" });
    const watches = { dataWatches: ["/"], existWatches: [path], childWatches: [] };
    // The zxid is from before all changes, so a watch that was really set would fire at once.
    expect((await client.send("setWatches", { relativeZxid: 0n, ...watches })).err).toBe(0);
    await direct.create(path);
    await client.send("exists", { path: `${path}-marker`, watch: true });
    await direct.create(`${path}-marker`);
    await eventually(() => client.events.length > 0, { what: "the marker", everyMs: 5 });
    expect(client.events.map((event) => event.path)).toEqual([`${path}-marker`]);
  });

  test.each([
    ["frame", false],
    ["prep", false],
    ["applied", true],
  ] as const)("run at %s: sees the request applied %j, and a promise holds it up", async (at, there) => {
    let go = () => {};
    let seen: boolean | undefined;
    const fault = on({
      do: "run",
      at,
      async call() {
        seen = await direct.exists(path);
        await new Promise<void>((resolve) => {
          go = resolve;
        });
      },
    });
    const reply = client.create(path);
    await fault.reached();
    await eventually(() => seen !== undefined, { what: "the look", everyMs: 5 });
    expect(seen).toBe(there);
    expect(await stillOpen(reply)).toBe(true);
    go();
    expect(await reply).toBe(path);
  });

  test.each(["frame", "prep", "applied"] as const)(
    "several rules at %s act in the order in which they were added",
    async (at) => {
      const order: string[] = [];
      on({ do: "run", at, call: () => void order.push("first") });
      const held = on({ do: "hold", at });
      on({ do: "run", at, call: () => void order.push("behind the hold") });
      const reply = client.create(path);
      await eventually(() => order.length > 0, { what: "the first rule", everyMs: 5 });
      expect(await stillOpen(reply)).toBe(true);
      expect(order).toEqual(["first"]);
      held.release();
      expect(await reply).toBe(path);
      expect(order).toEqual(["first", "behind the hold"]);
    },
  );

  test.each(["before", "applied"] as const)("a request is held and only then closed %s", async (when) => {
    const held = on({ do: "hold", at: when === "before" ? "prep" : "applied" });
    on({ do: "close", when });
    const reply = client.create(path);
    await held.reached();
    if (when === "applied") await applied(path);
    expect(await stillOpen(reply)).toBe(true);
    held.release();
    await expect(reply).rejects.toThrow("connection lost");
    expect(await direct.exists(path)).toBe(when === "applied");
  });

  test("a reply that was made longer is cut to more than it was", async () => {
    const wire = await Wire.open(subject);
    const before = wire.bytes;
    subject.faults.on({ op: "create", path }, { do: "grow-reply", bytes: 1_000 });
    subject.faults.on({ op: "create", path }, { do: "cut-reply", bytes: 500 });
    await expect(wire.ask(...createOf(path))).rejects.toThrow("closed the connection");
    expect(wire.bytes).toBe(before + 500);
    wire.destroy();
  });

  test("handshakes: close, reject, hold", async () => {
    subject.faults.on({ op: "connect" }, { do: "close" });
    await expect(WireClient.connect(here())).rejects.toThrow("connection lost in the handshake");
    subject.faults.on({ op: "connect", session: own }, { do: "reject" });
    await expect(WireClient.connect(here(), { session: client.session })).rejects.toThrow("session expired");
    // The server only said that the session had expired.
    expect(await client.exists("/")).toBe(true);
    const held = subject.faults.on({ op: "connect" }, { do: "hold" });
    const opening = open(here());
    expect(await held.reached()).toMatchObject({ target: "connect", session: 0n, paths: [], xid: 0 });
    expect(await stillOpen(opening)).toBe(true);
    held.release();
    expect((await opening).session.timeoutMs).toBe(5_000);
  });

  test("events: one is lost, the next is held, and with it the answers behind it", async () => {
    await client.send("exists", { path: `${path}-1`, watch: true });
    await client.send("exists", { path: `${path}-2`, watch: true });
    const lost = subject.faults.on({ session: own, op: "event", path: `${path}-1` }, { do: "drop" });
    const held = subject.faults.on(
      { session: own, op: "event", event: "created", path: `${path}-2` },
      { do: "hold" },
    );
    await direct.create(`${path}-1`);
    await direct.create(`${path}-2`);
    expect(await held.reached()).toMatchObject({ target: "event", paths: [`${path}-2`], xid: -1 });
    const behind = client.exists(path);
    expect(await stillOpen(behind)).toBe(true);
    expect(client.events).toEqual([]);
    expect(lost.hits).toHaveLength(1);
    held.release();
    await behind;
    expect(client.events.map((event) => event.path)).toEqual([`${path}-2`]);
  });

  test("a multi is matched by any of its paths", async () => {
    const fault = subject.faults.on({ session: own, path: `${path}-b` }, { do: "close" });
    const ops = ["-a", "-b"].map((end) => ({
      op: "create" as const,
      request: { path: path + end, data: null, acl: openAcl, flags: 0 },
    }));
    await expect(client.send("multi", { ops })).rejects.toThrow("connection lost");
    expect(fault.hits).toMatchObject([{ target: "multi", paths: [`${path}-a`, `${path}-b`] }]);
    expect(await direct.exists(`${path}-a`)).toBe(false);
  });

  test("`times` counts from `nth`, and a released rule is over", async () => {
    const fault = subject.faults.on(
      { session: own, op: "exists", nth: 2, times: 2 },
      { do: "answer", err: "SystemError" },
    );
    const errors: number[] = [];
    for (let asked = 0; asked < 5; asked++) {
      errors.push((await client.send("exists", { path: "/", watch: false })).err);
    }
    const { SystemError } = errorCodes;
    expect(errors).toEqual([0, SystemError, SystemError, 0, 0]);
    expect(fault.hits).toHaveLength(2);
    subject.faults.on({ session: own, op: "exists", times: 9 }, { do: "drop" }).release();
    expect(await client.exists("/")).toBe(true);
  });

  test("refused connections are closed at once, others go on, until released", async () => {
    const refusal = subject.faults.refuseConnections();
    await expect(WireClient.connect(here())).rejects.toThrow("connection lost in the handshake");
    expect(await client.exists("/")).toBe(true);
    refusal.release();
    expect((await open(here())).session.timeoutMs).toBe(5_000);
  });

  test("clear lets go of everything", async () => {
    const fault = on({ do: "hold" });
    const reply = client.create(path);
    await fault.reached();
    subject.faults.on({ times: 9 }, { do: "drop" });
    subject.faults.refuseConnections();
    expect(subject.faults.active).toBe(true);
    subject.faults.clear();
    expect(subject.faults.active).toBe(false);
    expect(await reply).toBe(path);
    await open(here());
  });
});

test("a proxy refuses the one action that takes another member", async () => {
  await using proxy = await startZooKeeperProxy({ target: "127.0.0.1:1" });
  expect(() => proxy.faults.on({ op: "connect" }, { do: "move" })).toThrow(TestServerError);
});
