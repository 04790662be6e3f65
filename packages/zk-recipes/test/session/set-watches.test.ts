import { encodeRequest } from "@holdfast/zk-protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxPieceBytes, setWatchesPieces } from "../../src/client/set-watches.js";

describe("the pieces of setWatches", () => {
  test("are none without watches", () => {
    expect([...setWatchesPieces({ data: [], exist: [], child: [] }, 5n)]).toEqual([]);
  });

  test("keep to their limit as encoded, hold every path once in its list, and count from one zxid", () => {
    const path = fc.string({ unit: "grapheme", minLength: 1, maxLength: 9_000 });
    const list = fc.array(path, { maxLength: 40 });
    fc.assert(
      fc.property(list, list, list, fc.bigInt({ min: 0n, max: 2n ** 62n }), (data, exist, child, zxid) => {
        const pieces = [...setWatchesPieces({ data, exist, child }, zxid)];
        expect(pieces.flatMap(({ dataWatches }) => dataWatches)).toEqual(data);
        expect(pieces.flatMap(({ existWatches }) => existWatches)).toEqual(exist);
        expect(pieces.flatMap(({ childWatches }) => childWatches)).toEqual(child);
        for (const piece of pieces) {
          expect(piece.relativeZxid).toBe(zxid);
          // The frame's length and the request header are added to that.
          expect(encodeRequest("setWatches", piece).length + 12).toBeLessThanOrEqual(maxPieceBytes);
        }
      }),
      { numRuns: 60 },
    );
  });
});
