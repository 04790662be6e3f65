import { errorCodes, type ReplyHeader, type SetWatchesRequest } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { askAgainMs } from "../../src/client/passing.js";
import { maxPieceBytes, noPaths } from "../../src/client/set-watches.js";
import { WatchRestorer } from "../../src/client/watch-restorer.js";

/** So long that each path needs its own piece. */
const paths = Array.from({ length: 50 }, (_, i) => `/${i}`.padEnd(maxPieceBytes / 2, "x"));
const watched = { ...noPaths, data: paths };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("very many watches", () => {
  it("of a connection that has ended are not sent over the next one, which gets all from the same zxid on", async () => {
    let nowMs = 0;
    let sent: SetWatchesRequest[] = [];
    const context = { setWatches: (request: SetWatchesRequest) => void sent.push(request), failed() {} };
    const restorer = new WatchRestorer(context, { nowMs: () => ++nowMs, setTimer: () => () => {} });
    const restored: string[] = [];
    restorer.restore(watched, 7n, () => restored.push("first"));
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.length).toBeLessThan(paths.length);
    restorer.reset();
    sent = [];
    await turn();
    expect(sent).toEqual([]);
    restorer.restore(watched, 9n, () => restored.push("second"));
    for (let i = 0; i < 2 * paths.length; i++) await turn();
    expect(sent.flatMap(({ dataWatches }) => dataWatches)).toEqual(paths);
    expect(new Set(sent.map(({ relativeZxid }) => relativeZxid))).toEqual(new Set([7n]));
    expect(restored).toEqual(["second"]);
  });
});

describe("watches that a server refuses", () => {
  interface Sent {
    readonly request: SetWatchesRequest;
    readonly answered: (header: ReplyHeader) => void;
  }
  let sent: Sent[];
  let failures: Error[];
  let timers: { readonly delayMs: number; readonly fn: () => void }[];
  let restorer: WatchRestorer;

  beforeEach(() => {
    sent = [];
    failures = [];
    timers = [];
    const context = {
      setWatches: (request: SetWatchesRequest, answered: Sent["answered"]) =>
        void sent.push({ request, answered }),
      failed: (error: Error) => void failures.push(error),
    };
    const setTimer = (delayMs: number, fn: () => void) => {
      timers.push({ delayMs, fn });
      return () => {};
    };
    restorer = new WatchRestorer(context, { nowMs: () => 0, setTimer });
  });

  const restore = (zxid: bigint): void => restorer.restore({ ...noPaths, data: ["/a"] }, zxid, () => {});
  const answer = (err: number): void => sent.at(-1)?.answered({ xid: 1, zxid: 1n, err });
  const zxids = (): bigint[] => sent.map(({ request }) => request.relativeZxid);

  it("again and again cost the connection in the end", () => {
    restore(7n);
    for (let i = 0; i < 19; i++) {
      answer(errorCodes.ThrottledOp);
      timers.at(-1)?.fn();
    }
    expect([sent.length, failures]).toEqual([20, []]);
    answer(errorCodes.ThrottledOp);
    expect([sent.length, failures.length]).toEqual([20, 1]);
  });

  it.each(["ThrottledOp", "OperationTimeout"] as const)(
    "for the moment, by %s, are sent again over the same connection after a pause, from the same zxid on",
    (code) => {
      restore(7n);
      answer(errorCodes[code]);
      expect(zxids()).toEqual([7n]);
      expect(timers.map(({ delayMs }) => delayMs)).toEqual([askAgainMs]);
      timers[0]?.fn();
      expect(zxids()).toEqual([7n, 7n]);
      expect(failures).toEqual([]);
      // They are not in place yet, so the next connection counts from there too, and the old one sends nothing more.
      answer(errorCodes[code]);
      restorer.reset();
      timers[1]?.fn();
      restore(9n);
      answer(errorCodes.Ok);
      restorer.reset();
      restore(12n);
      expect(zxids()).toEqual([7n, 7n, 7n, 12n]);
    },
  );

  it("for good are of no use to the connection", () => {
    restore(7n);
    answer(errorCodes.MarshallingError);
    expect(failures).toHaveLength(1);
    expect(timers).toEqual([]);
  });
});
