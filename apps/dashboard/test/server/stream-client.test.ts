import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Observatory } from "../../src/core/observatory.js";
import { Flush } from "../../src/server/flush.js";
import { StreamClient } from "../../src/server/stream-client.js";
import { StreamHub } from "../../src/server/stream-hub.js";
import { FakeCollector } from "../fake-collector.js";
import { soon } from "../soon.js";

/** A client that wants the overview. Only the test flushes it. */
function scene(): {
  readonly client: StreamClient;
  flushed(due: boolean, counted: boolean): Promise<string>;
} {
  const observatory = new Observatory([{ name: "zoo", collector: new FakeCollector() }]);
  const hub = new StreamHub(observatory);
  const response = new PassThrough();
  const wishes = { overview: true, findings: false, lastEventId: undefined };
  const client = new StreamClient(hub, response as unknown as ServerResponse, wishes);
  onTestFinished(() => {
    hub.close();
    observatory.close();
  });
  return {
    client,
    async flushed(due, counted) {
      const figures = counted ? await observatory.overview() : null;
      client.flush(new Flush(observatory, performance.now(), due, figures), 15_000);
      return String(response.read() ?? "");
    },
  };
}

describe("a client of the stream", () => {
  it("that came while all locks were counted gets the overview with the next flush, due or not, and then when it is due", async () => {
    const { client, flushed } = scene();
    expect(await flushed(true, false)).not.toContain("event: overview");
    expect(client.wantsOverview(false)).toBe(true);
    expect(await flushed(false, true)).toContain("event: overview");
    expect(client.wantsOverview(false)).toBe(false);
    expect(await flushed(false, true)).not.toContain("event: overview");
    expect(await flushed(true, true)).toContain("event: overview");
  });
});

describe("a stream that is ended by the server", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("lets its connection go after 2 s, also when its client takes nothing, so that the server's end does not wait for it", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const observatory = new Observatory([{ name: "zoo", collector: new FakeCollector() }]);
    const hub = new StreamHub(observatory);
    onTestFinished(() => observatory.close());
    const response = new PassThrough({ highWaterMark: 1 });
    const wishes = { overview: false, findings: false, lastEventId: undefined };
    const client = new StreamClient(hub, response as unknown as ServerResponse, wishes);
    hub.add(client, []);
    client.flush(new Flush(observatory, performance.now(), false, null), 0);
    expect(response.writableNeedDrain).toBe(true);
    hub.close();
    vi.advanceTimersByTime(1_999);
    expect(response.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(response.destroyed).toBe(true);
  });
});

describe("the hub of the streams", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("beats every 5 s to a client for which nothing changes", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const observatory = new Observatory([{ name: "zoo", collector: new FakeCollector() }]);
    const hub = new StreamHub(observatory);
    const response = new PassThrough();
    const wishes = { overview: false, findings: false, lastEventId: undefined };
    hub.add(new StreamClient(hub, response as unknown as ServerResponse, wishes), []);
    const beats: number[] = [];
    for (let atMs = 250; atMs <= 16_000; atMs += 250) {
      await vi.advanceTimersByTimeAsync(250);
      // The findings and the flush of one moment run in separate turns.
      for (let turn = 0; turn < 3; turn++) await setImmediate();
      if (String(response.read() ?? "").includes("event: hello")) beats.push(atMs);
    }
    hub.close();
    observatory.close();
    expect(beats).toEqual([250, 5_250, 10_250, 15_250]);
  });

  it("goes on, with a warning, after a collector that is the host's own has thrown", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const collector = new FakeCollector();
    collector.figures = () => {
      throw new Error("cannot count");
    };
    const observatory = new Observatory([{ name: "zoo", collector }]);
    const hub = new StreamHub(observatory);
    onTestFinished(() => {
      hub.close();
      observatory.close();
      warned.mockRestore();
    });
    const response = new PassThrough();
    const wishes = { overview: true, findings: false, lastEventId: undefined };
    hub.add(new StreamClient(hub, response as unknown as ServerResponse, wishes), []);
    const warnings = () => warned.mock.calls.map(([message]) => String(message));
    await soon(warnings).toContain("the streams got nothing: cannot count");
    collector.figures = () => collector.locks();
    await soon(() => String(response.read() ?? "")).toContain("event: overview");
  });
});
