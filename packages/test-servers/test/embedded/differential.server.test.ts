import type { MultiOp, OpName, RequestOf } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { share } from "../../../../e2e/support/share.js";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "../../src/embedded/index.js";
import { Random } from "../../src/embedded/random.js";
import { startZooKeeper, type ZooKeeperNode } from "../../src/index.js";
import { createOf } from "./support/requests.js";
import { type Address, type Reply, Wire } from "./support/wire.js";

let real: ZooKeeperNode | undefined;
let embedded: EmbeddedZooKeeper | undefined;

beforeAll(async () => {
  real = await startZooKeeper({ extendedTypes: true });
  embedded = await startEmbeddedZooKeeper({ extendedTypes: true });
});

afterAll(async () => {
  await embedded?.stop();
  await real?.stop();
});

const names = ["a", "b", "a/x", "a/y", "b/x", "a/x/deep"];
const acls = [
  createOf("/").acl,
  createOf("/").acl,
  createOf("/").acl,
  [{ perms: 31, scheme: "auth", id: "" }],
  [{ perms: 31, scheme: "auth", id: null }],
  [{ perms: 31, scheme: "digest", id: null }],
  [{ perms: 1, scheme: "world", id: "anyone" }],
  [{ perms: 31, scheme: "ip", id: "127.0.0.1" }],
  [{ perms: 27, scheme: "digest", id: "u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=" }],
  [],
];

/**
 * A random request of any kind that a client could send. Left out are those that hang a real server (createTTL without its flag
 * and with a negative time) and those that are never answered (check outside of a multi).
 */
function draw(random: Random, home: string, since: bigint): readonly [OpName, RequestOf<OpName>] {
  const pick = <T>(items: readonly T[]): T => items[random.below(items.length)] as T;
  const path =
    random.below(25) === 0 ? pick(["/", "", "no", `${home}/a//b`, `${home}/.`]) : `${home}/${pick(names)}`;
  const some = (): string[] => names.filter(() => random.below(4) === 0).map((name) => `${home}/${name}`);
  const version = random.below(4) - 1;
  const data = pick([null, Buffer.alloc(0), Buffer.from("data")]);
  const make = (flags: number) => ({ ...createOf(path, { data, flags }), acl: pick(acls) });
  const watch = random.below(2) === 0;
  const step = (): MultiOp =>
    pick<() => MultiOp>([
      () => ({ op: "create", request: createOf(`${home}/${pick(names)}`, { flags: random.below(5) }) }),
      () => ({ op: "create2", request: createOf(`${home}/${pick(names)}`, { flags: random.below(4) }) }),
      () => ({
        op: "createContainer",
        request: createOf(`${home}/${pick(names)}`, { flags: pick([4, 0, 1]) }),
      }),
      () => ({
        op: "createTTL",
        request: { ...createOf(`${home}/${pick(names)}`, { flags: 5 }), ttlMs: 99_999n },
      }),
      () => ({ op: "delete", request: { path: `${home}/${pick(names)}`, version: -1 } }),
      () => ({ op: "check", request: { path: `${home}/${pick(names)}`, version } }),
      () => ({ op: "setData", request: { path: `${home}/${pick(names)}`, data, version: -1 } }),
    ])();
  const lists = () => ({
    relativeZxid: since,
    dataWatches: some(),
    existWatches: some(),
    childWatches: some(),
  });
  return pick<() => readonly [OpName, RequestOf<OpName>]>([
    () => ["create", make(random.below(8) - 1)],
    () => ["create", make(random.below(4))],
    () => ["create2", make(random.below(4))],
    () => ["createContainer", make(pick([4, 4, 0, 1, 2, 3]))],
    () => ["createTTL", { ...make(pick([5, 6])), ttlMs: pick([99_999n, 0n, -1n]) }],
    () => ["delete", { path, version: pick([-1, -1, version]) }],
    () => ["delete", { path, version: -1 }],
    () => ["setData", { path, data, version: pick([-1, version]) }],
    () => ["setACL", { path, acl: pick(acls), version: pick([-1, version]) }],
    () => ["exists", { path, watch }],
    () => ["getData", { path, watch }],
    () => ["getChildren", { path, watch }],
    () => ["getChildren2", { path, watch }],
    () => ["getACL", { path }],
    () => ["getAllChildrenNumber", { path: `${home}/${pick(names)}` }],
    () => ["getEphemerals", { prefix: pick([null, home, path]) }],
    () => ["sync", { path }],
    () => ["multi", { ops: Array.from({ length: random.below(4) }, step) }],
    () => [
      "multiRead",
      {
        ops: [
          { op: "getData", request: { path, watch } },
          { op: "getChildren", request: { path, watch } },
        ],
      },
    ],
    () => ["addWatch", { path, mode: random.below(3) }],
    () => ["removeWatches", { path, type: 1 + random.below(4) }],
    () => ["checkWatches", { path: `${home}/${pick(names)}`, type: 1 + random.below(4) }],
    () => ["setWatches", lists()],
    () => ["setWatches2", { ...lists(), persistentWatches: some(), persistentRecursiveWatches: some() }],
    () => ["whoAmI", undefined],
    () => ["auth", { type: 0, scheme: "digest", auth: Buffer.from(pick(["u:p", "v:q"])) }],
  ])();
}

/** What of a reply must be equal: no times, zxids counted from the start of the run, sessions by number, sorted lists. */
function told(reply: Reply, wires: readonly Wire[], base: bigint): unknown {
  const plain = (value: unknown, key = ""): unknown => {
    if (key === "ctime" || key === "mtime") return "time";
    if (typeof value === "bigint") {
      const session = wires.findIndex((wire) => wire.session.sessionId === value);
      if (key === "ephemeralOwner") return session;
      return value <= base ? "before" : String(value - base);
    }
    if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
    if (key === "children" || key === "ephemerals" || key === "clientInfo")
      return [...(value as unknown[])].map((item) => JSON.stringify(item)).sort();
    if (Array.isArray(value)) return value.map((item) => plain(item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field, name)]));
  };
  const zxid =
    reply.zxid > base ? String(reply.zxid - base) : reply.zxid <= 0n ? String(reply.zxid) : "before";
  return { err: reply.err, zxid, response: plain(reply.response) };
}

interface Side {
  readonly wires: readonly Wire[];
  readonly base: bigint;
}

async function side(address: Address, home: string): Promise<Side> {
  const wires = [
    await Wire.open(address, { timeoutMs: 10_000 }),
    await Wire.open(address, { timeoutMs: 10_000 }),
  ];
  await wires[0]?.ask("create", createOf(home));
  await wires[0]?.ask("auth", { type: 0, scheme: "digest", auth: Buffer.from("u:p") });
  return { wires, base: (await wires[0]?.ask("ping", undefined))?.zxid ?? 0n };
}

const runs = share("runs of the embedded server beside ZooKeeper", 3, 12);

test.each(Array.from({ length: runs }, (_, run) => run))(
  "run %i: the embedded server answers as ZooKeeper does, request by request",
  async (run) => {
    const seed = (Date.now() % 1_000_000) * 100 + run;
    const random = new Random(seed);
    const home = `/home${run}`;
    if (real === undefined || embedded === undefined) throw new Error("a server did not start");
    const sides = [
      await side({ host: "127.0.0.1", port: real.port }, home),
      await side(embedded, home),
    ] as const;
    const log: string[] = [];
    for (let i = 0; i < 400; i++) {
      const [who, since] = [random.below(2), BigInt(random.below(i + 1))];
      const state = random.below(2 ** 30);
      const replies: unknown[] = [];
      for (const { wires, base } of sides) {
        const [op, request] = draw(new Random(state), home, base + since);
        const wire = wires[who] as Wire;
        const reply = await wire.ask(op, request);
        replies.push({ ...(told(reply, wires, base) as object), op });
        if (wires === sides[0].wires) {
          log.push(
            `${who} ${op} ${JSON.stringify(request, (_, value) => (typeof value === "bigint" ? `${value - base}` : value))} -> ${reply.err}`,
          );
        }
      }
      // Each connection answers once more, so that every event that is due has arrived.
      for (const { wires } of sides) for (const wire of wires) await wire.ask("ping", undefined);
      const events = sides.map(({ wires }) => wires.map((wire) => wire.types));
      expect({ seed, i, log: log.slice(-20), reply: replies[1], events: events[1] }).toEqual({
        seed,
        i,
        log: log.slice(-20),
        reply: replies[0],
        events: events[0],
      });
    }
    for (const { wires } of sides)
      for (const wire of wires) {
        await wire.ask("closeSession", undefined);
        wire.destroy();
      }
  },
);
