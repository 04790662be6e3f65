import type { SetWatchesRequest } from "@holdfast/zk-protocol";
import { describe, expect, it } from "vitest";
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
    const restorer = new WatchRestorer(context, { nowMs: () => ++nowMs });
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
