import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { RunClock } from "../../src/engine/clock.js";
import { historyOf } from "../../src/history/read.js";
import type { HistoryRecord } from "../../src/history/record.js";
import { type Held, validUntil } from "../../src/workload/held.js";
import type { FromWorker, WorkerKey } from "../../src/workload/protocol.js";
import type { Ask, Client, Grant, ReleaseEnd } from "../../src/workload/recipe.js";
import { RecordedCalls } from "../../src/workload/recorded-calls.js";

const key: WorkerKey = { id: "k1", name: "chaos-k1", kind: "mutex", backend: "zookeeper", leaseMs: 1_000 };

class Gone extends Error {}

/** A client that grants what the test says. It notes its calls in the same list as the records that are written. */
class FakeClient implements Client {
  readonly lost = new AbortController();
  remaining = 800;
  released: ReleaseEnd = { end: "ok" };
  asks: Ask[] = [];
  next: (() => Grant | null) | null = null;
  readonly #notes: string[];

  constructor(notes: string[]) {
    this.#notes = notes;
  }

  async acquire(ask: Ask): Promise<Grant | null> {
    this.#notes.push("client acquire");
    this.asks.push(ask);
    return this.next === null ? this.grant() : this.next();
  }

  grant(): Grant {
    return {
      token: 41n,
      remainingMs: () => this.remaining,
      lost: this.lost.signal,
      release: async () => {
        this.#notes.push("client release");
        return this.released;
      },
      downgrade: async () => {
        this.#notes.push("client downgrade");
        return this.grant();
      },
    };
  }

  meaning = (error: unknown): "info" | "fail" => (error instanceof Gone ? "info" : "fail");
  close = async (): Promise<void> => {};
}

let notes: string[];
let said: Exclude<FromWorker, { say: unknown }>[];
let client: FakeClient;
let calls: RecordedCalls;

const openCalls = (): RecordedCalls =>
  new RecordedCalls(
    {
      p: "w0#0",
      clock: new RunClock(),
      client,
      resource: null,
      fenced: false,
      signal: new AbortController().signal,
      broken: () => {},
      say: (word) => {
        if ("say" in word) return;
        notes.push(`said ${word.type} ${word.f}`);
        said.push(word);
      },
    },
    5,
  );

beforeEach(() => {
  notes = [];
  said = [];
  client = new FakeClient(notes);
  calls = openCalls();
  return () => calls.close();
});

const acquired = async (): Promise<Held> => {
  const held = await calls.acquire(key);
  if (held === null) throw new Error("not granted");
  return held;
};

describe("the recorded calls of a worker", () => {
  it("tells of each request before it leaves, so that a killed worker's release is known", async () => {
    await calls.release(await acquired());
    expect(notes).toEqual([
      "said invoke acquire",
      "client acquire",
      "said ok acquire",
      "said invoke release",
      "client release",
      "said ok release",
    ]);
  });

  it("gives the client the label that the history has for the request", async () => {
    const held = await acquired();
    expect(client.asks[0]?.label).toBe(held.id);
    expect(said.at(-1)).toMatchObject({ type: "ok", ret: { hold: "w0#0:1", token: "41" } });
  });

  it("calls a limited wait back by its signal where the client is to know no limit", async () => {
    client.acquire = async (ask) => {
      client.asks.push(ask);
      return await new Promise((_, reject) => {
        ask.signal.addEventListener("abort", () => reject(ask.signal.reason), { once: true });
      });
    };
    expect(await calls.acquire(key, { waitMs: 5, aborts: true })).toBeNull();
    expect(client.asks[0]?.waitMs).toBeUndefined();
    expect(said).toMatchObject([
      { type: "invoke", arg: { waitMs: 5 } },
      { type: "fail", f: "acquire" },
    ]);
  });

  it("distinguishes a refusal from an end that is not known", async () => {
    client.next = () => {
      throw new Gone("the connection broke");
    };
    expect(await calls.acquire(key)).toBeNull();
    client.next = () => null;
    expect(await calls.acquire(key, { once: true, waitMs: 0 })).toBeNull();
    client.next = () => {
      throw new Error("too late");
    };
    expect(await calls.acquire(key, { waitMs: 10 })).toBeNull();
    expect(said.filter(({ type }) => type !== "invoke")).toMatchObject([
      { type: "info", f: "acquire", error: "the connection broke" },
      { type: "fail", f: "try-acquire" },
      { type: "fail", f: "acquire", error: "too late" },
    ]);
  });

  it("tells of a loss at once, and of none after the hold was given back", async () => {
    const held = await acquired();
    client.lost.abort({ reason: "session-expired" });
    expect(said.at(-1)).toMatchObject({ type: "event", f: "lost", hold: held.id, cause: "session-expired" });
    client = new FakeClient(notes);
  });

  it("keeps quiet about a signal that aborts after the release", async () => {
    await calls.release(await acquired());
    client.lost.abort({ reason: "late" });
    expect(said.some(({ type }) => type === "event")).toBe(false);
  });

  it("says how a release ended: ours no more, or not known", async () => {
    client.released = { end: "fail", why: "it was lost" };
    await calls.release(await acquired());
    client.released = { end: "info", why: "no answer" };
    await calls.release(await acquired());
    expect(
      said.filter(({ f, type }) => f === "release" && type !== "invoke").map(({ type }) => type),
    ).toEqual(["fail", "info"]);
  });

  it("tells that the client keeps what was released, and how often its owner still has it", async () => {
    client.released = { end: "ok", kept: true, count: 0 };
    await calls.release(await acquired());
    expect(said.at(-1)).toMatchObject({ type: "ok", f: "release", ret: { kept: true, count: 0 } });
    client.released = { end: "ok" };
    await calls.release(await acquired());
    expect(said.at(-1)).not.toHaveProperty("ret");
  });

  it("tells when a promise was extended, but not when it was lost", async () => {
    calls.close();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    calls = openCalls();
    const held = await acquired();
    const first = said.at(-1) as { ret: { validUntil: number } };
    client.remaining = 2_000;
    await vi.advanceTimersByTimeAsync(10);
    expect(said.at(-1)).toMatchObject({ hold: held.id });
    expect((said.at(-1) as { validUntil: number }).validUntil).toBeGreaterThan(first.ret.validUntil);
    client.lost.abort({ reason: "lease-expired" });
    client.remaining = 9_000;
    const before = said.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(said.length).toBe(before);
  });

  it("records no longer promise than was made, although the process stood still while it looked", () => {
    let now = 5e9;
    const clock = { now: () => now } as unknown as RunClock;
    const remainingMs = (): number => {
      now += 1e9;
      return 300;
    };
    expect(validUntil({ ...client.grant(), remainingMs }, clock)).toBe(5.3e9);
  });

  it("makes a history in which a downgraded write ends and a read of the same token begins", async () => {
    const held = await acquired();
    const read = (await calls.downgrade(held)) as Held;
    await calls.release(read);
    const meta = {
      t: 0,
      type: "meta",
      v: 1,
      run: "r",
      seed: 1,
      scenario: "T",
      versions: {},
      capabilities: [],
    };
    const keys = { k1: { kind: "read-write", backend: "zookeeper", leaseMs: 1_000 } };
    const records = [{ ...meta, keys }, ...said].map((record, i) => ({ i, ...record }) as HistoryRecord);
    const holds = historyOf(records).keys.get("k1")?.holds ?? [];
    expect(holds.map(({ mode, cause, token }) => [mode, cause, token])).toEqual([
      ["write", "downgrade", 41n],
      ["read", "release", 41n],
    ]);
  });
});
