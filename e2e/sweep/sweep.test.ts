import { describe, expect, it } from "vitest";
import { share } from "../support/share.js";
import { operations } from "./operations.js";
import { writeLog } from "./support/artefact.js";
import { describePoint, faultsFor, type Point, pointsOf, tryPoint } from "./sweep.js";

/** A normal run takes every so many of the points, spread over all requests and kinds; a full run takes all. */
const stride = 3;

/** What to run for one point again: its words stand in the title of the failure. */
const only = process.env.HOLDFAST_POINT;

describe.sequential("a fault at any request of the mutex recipe", () => {
  let covered = 0;

  for (const operation of operations) {
    it(`leaves one holder, nothing behind and nobody waiting: ${operation.name}`, async () => {
      const points = await pointsOf(operation);
      expect(points.length).toBeGreaterThan(2);
      const all = points.flatMap((point) => faultsFor(point).map((kind) => ({ point, kind })));
      const chosen = all.filter(({ point, kind }) =>
        only === undefined ? true : describePoint(point, kind).includes(only),
      );
      const part = Math.ceil(chosen.length / stride);
      const count = only === undefined ? share(`points of ${operation.name}`, part, all.length) : all.length;
      const wrong: string[] = [];
      for (const [index, { point, kind }] of chosen.entries()) {
        if (count < all.length && index % stride !== 0) continue;
        const title = describePoint(point, kind);
        const { hit, violations, grants, lines } = await tryPoint(point, kind);
        if (!hit) violations.push("the fault did not happen");
        if (grants === 0) violations.push("nobody was ever granted");
        if (violations.length > 0) {
          wrong.push(
            `${title}\n  ${violations.join("\n  ")}\n  event log: ${writeLog(title, lines)}\n  again: ${again(title)}`,
          );
        }
        covered += 1;
      }
      expect(wrong, wrong.join("\n")).toEqual([]);
      console.log(`${operation.name}: ${requestsOf(points)}; ${covered} points covered so far`);
    }, 3_600_000);
  }
});

function requestsOf(points: readonly Point[]): string {
  const of = (target: Point["target"]): number => points.filter((point) => point.target === target).length;
  return `${of("request")} requests, ${of("event")} events, ${of("connect")} handshakes`;
}

function again(title: string): string {
  return `HOLDFAST_POINT='${title}' npx vitest run --project servers e2e/sweep/sweep.test.ts`;
}
