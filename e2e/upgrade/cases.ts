import { randomUUID } from "node:crypto";
import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { share } from "../support/share.js";
import { Witness } from "./witness.js";
import { type Backend, buildPresentSide, type Side, Worker } from "./worker.js";

/** The number of permits in `worker.mjs`. */
const permits = 2;

interface Kind {
  readonly kind: string;
  readonly permits?: number;
  /** Whether the lock stays taken for good when its holder dies: Redisson's plain number has no leases. */
  readonly outlivesItsHolder?: boolean;
}

type PreparedKind = Pick<Kind, "kind"> & { readonly permits?: number | null };

export interface UpgradeCases {
  readonly backend: Backend;
  readonly kinds: readonly Kind[];
  /** Pairs of kinds that refuse each other on one name: the first is held when the second is asked for. */
  readonly refused: readonly (readonly [held: string, asked: string])[];
  /** Options with which only workers of the present side connect. */
  readonly presentOptions?: object;
  /** Starts the servers. `options`: how a worker of either side connects to them. */
  start(): Promise<{ readonly options: object; stop(): Promise<unknown> }>;
}

export const everywhere: readonly Kind[] = [
  { kind: "mutex" },
  { kind: "reentrant-mutex" },
  { kind: "read-write-lock" },
  { kind: "reentrant-read-write-lock" },
  { kind: "leader-election" },
];

export const ofSemaphore = { permits } as const;

/** Workers of both sides on the same servers. Two of each side go on to the end, and others are killed. */
export function upgradeCases(where: string, cases: UpgradeCases): void {
  const { backend, kinds } = cases;
  const witness = new Witness();
  const run = randomUUID().slice(0, 8);
  const turns = share(`turns of each worker on each kind, old and present side, ${where}`, 6, 100);
  let options: object = {};
  let stop: () => Promise<unknown> = async () => {};
  let workers: Worker[] = [];
  let names = 0;

  const nameOf = (kind: string): string => `${run}-${++names}-${kind}`;
  const worker = (side: Side): Promise<Worker> =>
    Worker.start(
      side,
      backend,
      side === "present" ? { ...options, ...cases.presentOptions } : options,
      witness,
    );
  const of = (side: Side): Worker => {
    const found = workers.find((each) => each.side === side);
    if (found === undefined) throw new Error(`there is no worker of the ${side} side`);
    return found;
  };
  const other = (side: Side): Side => (side === "old" ? "present" : "old");
  const prepared = async ({ kind, permits: count = null }: PreparedKind): Promise<string> => {
    const name = nameOf(kind);
    witness.expect(name, count);
    if (kind === "permit-semaphore") await of("old").ask("set", name);
    return name;
  };

  beforeAll(async () => {
    const [, server] = await Promise.all([buildPresentSide(), cases.start()]);
    ({ options } = server);
    stop = () => server.stop();
    workers = await Promise.all([worker("old"), worker("present"), worker("old"), worker("present")]);
  });
  afterAll(async () => {
    await Promise.all(workers.map((each) => each.close()));
    await stop();
  });

  it("workers of both sides take turns on every kind: no two hold at once, no token falls, no worker is stuck", async () => {
    const contended = await Promise.all(
      kinds.map(async (kind) => {
        const name = await prepared(kind);
        await Promise.all(
          workers.map((each, i) => each.ask("contend", kind.kind, name, String(turns), String(i >> 1))),
        );
        return {
          kind: kind.kind,
          old: witness.grants(name, "old"),
          present: witness.grants(name, "present"),
        };
      }),
    );
    expect(witness.faults).toEqual([]);
    expect(contended).toEqual(kinds.map(({ kind }) => ({ kind, old: 2 * turns, present: 2 * turns })));
  });

  it("when holders and waiters of either side are killed, the waiters of both sides are granted every kind", async () => {
    const sides: readonly Side[] = ["old", "present"];
    const settled = await Promise.all(sides.map((side) => whenKilled(side)));
    expect(settled.flat()).toEqual([]);
    expect(witness.faults).toEqual([]);
  });

  /** Kills a holder and waiter of the side `dying`. Resolves to what was wrong. */
  async function whenKilled(dying: Side): Promise<string[]> {
    const victim = await worker(dying);
    const [foreign, fellow] = [of(other(dying)), of(dying)];
    const wrong: string[] = [];
    const queued = (name: string, kind: string, count: number): Promise<unknown> =>
      eventually(
        async () => {
          // Waiters of some kinds leave no trace, so nothing can be seen of them. No order was promised for them.
          const [total = ""] = await foreign.ask("waiters", kind, name);
          return total === "null" || Number(total) >= count;
        },
        { what: `${count} in the queue of ${name}` },
      );
    const stages = await Promise.all(
      kinds
        .filter(({ outlivesItsHolder }) => outlivesItsHolder !== true)
        .map(async (each) => {
          const { kind } = each;
          const count = String(each.permits ?? 1);
          // The first lock is held by the worker that dies, and workers of both sides wait for it.
          const first = await prepared(each);
          const before = { first: highest(await victim.ask("hold", kind, first, count)), second: 0n };
          for (const [i, waiter] of [foreign, fellow].entries()) {
            await waiter.ask("wait", kind, first);
            await queued(first, kind, i + 1);
          }
          // The second lock is held by a worker that lives. The worker that dies waits in front of another one.
          const second = await prepared(each);
          before.second = highest(await foreign.ask("hold", kind, second, count));
          for (const [i, waiter] of [victim, fellow].entries()) {
            await waiter.ask("wait", kind, second);
            await queued(second, kind, i + 1);
          }
          return { kind, first, second, before };
        }),
    );
    await victim.kill();
    await Promise.all(
      stages.map(async ({ kind, first, second, before }) => {
        await foreign.ask("release", second);
        const granted = async (waiter: Worker, name: string, token: bigint): Promise<void> => {
          const [own = ""] = await waiter.ask("granted", name);
          if (BigInt(own) <= token) wrong.push(`${kind}: the token ${own} came after ${token}`);
        };
        await Promise.all([
          granted(foreign, first, before.first),
          granted(fellow, first, before.first),
          granted(fellow, second, before.second),
        ]);
      }),
    );
    return wrong;
  }

  it.each(cases.refused)(
    "a %s that one side holds refuses a %s of the other side with LayoutConflictError",
    async (held, asked) => {
      for (const side of ["old", "present"] as const) {
        const name = nameOf("refused");
        await of(side).ask("hold", held, name, "1");
        expect([side, await of(other(side)).ask("attempt", asked, name)]).toEqual([
          side,
          ["LayoutConflictError"],
        ]);
        await of(side).ask("release", name);
      }
    },
  );

  if (cases.presentOptions !== undefined && "keepMs" in cases.presentOptions)
    keptCase(
      () => of("old"),
      () => of("present"),
      () => nameOf("kept"),
    );
  if (backend !== "redlock") rendezvousCase(() => workers, nameOf);
  if (backend === "zookeeper") valueCases(() => workers, nameOf);
  if (backend === "redis")
    semaphoreCase(
      () => of("old"),
      () => of("present"),
      () => nameOf("semaphore"),
    );
}

function highest(tokens: readonly string[]): bigint {
  let found = 0n;
  for (const token of tokens.map(BigInt)) if (token > found) found = token;
  return found;
}

/**
 * A waiter of the old side sends no message that it wants the lock. The holder learns it from the waiter's place in the queue,
 * or the keeping ends by itself.
 */
function keptCase(old: () => Worker, present: () => Worker, name: () => string): void {
  it("what the present side keeps for its next owner goes to waiters of the old side, with higher tokens", async () => {
    for (const kind of ["mutex", "reentrant-mutex", "read-write-lock"]) {
      const lock = name();
      let token = "0";
      let outcomes: string[] = [];
      for (let pair = 0; pair < 3; pair++) {
        [token = "0"] = await present().ask("hold", kind, lock, "1");
        outcomes = await present().ask("release", lock);
      }
      expect(outcomes).toEqual(["kept"]);
      await old().ask("wait", kind, lock);
      const [granted = "0"] = await old().ask("granted", lock);
      expect(BigInt(granted)).toBeGreaterThan(BigInt(token));
      const [next = "0"] = await present().ask("hold", kind, lock, "1");
      expect(BigInt(next)).toBeGreaterThan(BigInt(granted));
      await present().ask("release", lock);
    }
  });
}

function rendezvousCase(all: () => readonly Worker[], nameOf: (what: string) => string): void {
  it("latches, gates and double barriers let the workers of both sides go on together", async () => {
    const workers = all();
    const [old, present] = workers as [Worker, Worker];
    for (const [one, another] of [
      [old, present],
      [present, old],
    ] as const) {
      const latch = nameOf("latch");
      expect(await one.ask("set_count", latch, String(workers.length))).toEqual(["true"]);
      expect(await another.ask("set_count", latch, "1")).toEqual(["false"]);
      await Promise.all(workers.map((each) => each.ask("count_down", latch)));

      const gate = nameOf("gate");
      await one.ask("shut", gate);
      const passed = Promise.all(workers.map((each) => each.ask("pass_gate", gate)));
      await another.ask("open", gate);
      await passed;
    }
    const meeting = nameOf("meeting");
    const met = await Promise.all(workers.map((each) => each.ask("meet", meeting, String(workers.length))));
    expect(met).toHaveLength(workers.length);
  });
}

/**
 * On Redis, `semaphore()` of the old side is Redisson's plain number. On a side that has `plainSemaphore()`, the plain number is
 * that one.
 */
function semaphoreCase(old: () => Worker, present: () => Worker, nameOf: () => string): void {
  it("semaphore() of the present side shares the permits of the old one, or is refused where it has become another kind", async () => {
    const name = nameOf();
    await old().ask("hold", "semaphore", name, String(permits));
    const asked = present().hasPlainSemaphore ? "LayoutConflictError" : "AcquireTimeoutError";
    expect(await present().ask("attempt", "semaphore", name)).toEqual([asked]);
    expect(await present().ask("attempt", "plain-semaphore", name)).toEqual(["AcquireTimeoutError"]);
    await old().ask("release", name);
    expect(await present().ask("attempt", "plain-semaphore", name)).toEqual(["granted"]);
  });
}

/** The primitives of ZooKeeper that are not locks. */
function valueCases(all: () => readonly Worker[], nameOf: (what: string) => string): void {
  it("atomic numbers count what both sides add, and groups show the members of both sides", async () => {
    const number = nameOf("number");
    const group = nameOf("group");
    await Promise.all(all().map((each) => each.ask("add", number, "20")));
    await Promise.all(all().map((each, i) => each.ask("join", group, `${i} ${each.side}`)));
    for (const each of all()) {
      expect(await each.ask("value", number)).toEqual([String(20 * all().length)]);
      expect(await each.ask("members", group)).toEqual(["0 old", "1 present", "2 old", "3 present"]);
    }
  });
}
