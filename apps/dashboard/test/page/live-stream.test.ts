import { beforeEach, describe, expect, it } from "vitest";
import { LiveStream, type Source, type StreamState, streamQuery } from "../../page/src/live/live-stream.js";
import { beatMs, silenceMs } from "../../src/contract/stream.js";
import { TestClock } from "./fake-timers.js";

class FakeSource implements Source {
  onerror: ((event: never) => void) | null = null;
  closed = false;
  readonly query: string;
  readonly #listeners = new Map<string, (event: { readonly data: string }) => void>();

  constructor(query: string) {
    this.query = query;
  }

  addEventListener(type: string, listener: (event: { readonly data: string }) => void): void {
    this.#listeners.set(type, listener);
  }

  close(): void {
    this.closed = true;
  }

  send(type: string, data: unknown): void {
    this.#listeners.get(type)?.({ data: JSON.stringify(data) });
  }

  fail(): void {
    this.onerror?.(undefined as never);
  }
}

let clock: TestClock;
let sources: FakeSource[];
let told: string[];
let states: StreamState[];
let stream: LiveStream;

const last = (): FakeSource => {
  const source = sources.at(-1);
  if (source === undefined) throw new Error("no source was opened");
  return source;
};

beforeEach(() => {
  clock = new TestClock();
  sources = [];
  told = [];
  states = [];
  stream = new LiveStream(
    (query) => {
      const source = new FakeSource(query);
      sources.push(source);
      return source;
    },
    {
      opened: () => told.push("opened"),
      heard: () => {},
      stateChanged: (state) => states.push(state),
      locks: (rows) => told.push(`locks ${rows.length}`),
      gone: (ids) => told.push(`gone ${ids.join()}`),
      changes: (count) => told.push(`changes ${count}`),
      overview: () => told.push("overview"),
      findings: () => told.push("findings"),
      clusters: () => told.push("clusters"),
      poll: () => told.push("poll"),
    },
    clock,
  );
});

function open(): FakeSource {
  stream.start();
  clock.pass(200);
  last().send("hello", { nowMs: 1 });
  return last();
}

describe("the stream", () => {
  it("is live at the first hello, and says that everything is to be asked anew", () => {
    open();
    expect(states).toEqual(["live"]);
    expect(told).toEqual(["opened"]);
  });

  it("opens once for wishes that come in one breath, and anew when they change", () => {
    const [a, b] = [{}, {}];
    stream.want(a, { rows: ["1", "2"], overview: false, findings: false });
    stream.want(b, { rows: ["2", "3"], overview: true, findings: true });
    clock.pass(200);
    expect(sources.map(({ query }) => query)).toEqual(["rows=1%2C2%2C3&overview=1&findings=1"]);
    stream.want(b, null);
    stream.want(b, { rows: ["2", "3"], overview: true, findings: true });
    clock.pass(200);
    expect(sources).toHaveLength(1);
    stream.want(b, null);
    clock.pass(200);
    expect(sources.map(({ query, closed }) => [query, closed])).toEqual([
      ["rows=1%2C2%2C3&overview=1&findings=1", true],
      ["rows=1%2C2", false],
    ]);
  });

  it("hears nothing more from a source that it has closed", () => {
    const before = open();
    stream.want({}, { rows: ["1"], overview: false, findings: false });
    clock.pass(200);
    expect(last()).not.toBe(before);
    before.send("changes", { count: 3 });
    before.fail();
    expect(told).toEqual(["opened"]);
    expect(states).toEqual(["live"]);
  });

  it("reconnects after a failure, and asks anew when it is back", () => {
    open().fail();
    expect(states).toEqual(["live", "reconnecting"]);
    clock.pass(1000);
    last().send("hello", { nowMs: 2 });
    expect(states).toEqual(["live", "reconnecting", "live"]);
    expect(told).toEqual(["opened", "opened"]);
  });

  it("falls back to asking every 10 s after three failures, goes on trying, and stops asking when it is back", () => {
    open().fail();
    clock.pass(1000);
    last().fail();
    clock.pass(2000);
    expect(states.at(-1)).toBe("reconnecting");
    last().fail();
    expect(states.at(-1)).toBe("polling");
    for (let n = 0; n < 30; n += 1) {
      clock.pass(1000);
      if (!last().closed) last().fail();
    }
    expect(told.filter((each) => each === "poll")).toHaveLength(3);
    expect(sources.length).toBeGreaterThan(5);
    while (last().closed) clock.pass(1000);
    last().send("hello", { nowMs: 3 });
    const asked = told.length;
    for (let beat = 1; beat <= 8; beat += 1) {
      clock.pass(beatMs);
      last().send("hello", { nowMs: 3 + beat });
    }
    expect(told.slice(asked)).toEqual([]);
    expect(states.at(-1)).toBe("live");
  });

  it("gives a server two beats before its silence counts, and no more than 12 s", () => {
    expect(silenceMs).toBeGreaterThan(2 * beatMs);
    expect(silenceMs).toBeLessThanOrEqual(12_000);
  });

  it("says within 12 s that nothing comes any more, from the first hello on", () => {
    const source = open();
    clock.pass(11_000);
    expect(states).toEqual(["live"]);
    source.send("changes", { count: 1 });
    clock.pass(11_900);
    expect(states).toEqual(["live"]);
    clock.pass(200);
    expect(source.closed).toBe(true);
    expect(states).toEqual(["live", "reconnecting"]);
  });

  it("is not called live for longer when a new page opens it anew and no answer comes", () => {
    open();
    clock.pass(8_000);
    stream.want({}, { rows: ["1"], overview: false, findings: false });
    clock.pass(200);
    expect(sources).toHaveLength(2);
    expect(states).toEqual(["live"]);
    clock.pass(3_900);
    expect(states).toEqual(["live", "reconnecting"]);
  });

  it("takes a connection that is never answered for a failure, and asks by itself after three of them", () => {
    stream.start();
    clock.pass(12_300);
    expect(states).toEqual(["reconnecting"]);
    clock.pass(13_100 + 14_100);
    expect(states.at(-1)).toBe("polling");
    expect(sources.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(1);
  });

  it("does nothing while it is paused, not even for new wishes, and goes on where they then are", () => {
    const source = open();
    stream.pause();
    expect(source.closed).toBe(true);
    stream.want({}, { rows: ["7"], overview: false, findings: false });
    clock.pass(60_000);
    expect(sources).toHaveLength(1);
    expect(clock.pending).toBe(0);
    stream.resume();
    expect(last().query).toBe("rows=7");
    last().send("hello", { nowMs: 9 });
    expect(states).toEqual(["live", "paused", "connecting", "live"]);
  });

  it("pauses in the middle of failing, too", () => {
    open().fail();
    clock.pass(1000);
    last().fail();
    clock.pass(2000);
    last().fail();
    stream.pause();
    clock.pass(120_000);
    expect(clock.pending).toBe(0);
    expect(told.filter((each) => each === "poll")).toEqual([]);
  });
});

describe("its address", () => {
  it("stays under 8 KB, however many rows are wished for, the first ones first", () => {
    const rows = Array.from({ length: 500 }, (_, n) => `${n}-${"a".repeat(90)}`);
    const query = streamQuery({ rows, overview: true, findings: true });
    expect(query.length).toBeLessThan(7168);
    const sent = new URLSearchParams(query).get("rows")?.split(",") ?? [];
    expect(sent.length).toBeGreaterThan(50);
    expect(sent).toEqual(rows.slice(0, sent.length));
  });
  it("is empty when nothing is wished for", () => {
    expect(streamQuery({ rows: [], overview: false, findings: false })).toBe("");
  });
});
