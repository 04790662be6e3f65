import { describe, expect, it } from "vitest";
import { share } from "../support/share.js";
import type { Operation } from "./operations/operation.js";
import type { Recipe } from "./recipes.js";
import { writeLog } from "./support/artefact.js";
import { describePoint, faultsFor, type Point, pointsOf, tryPoint } from "./sweep.js";

/** Runs one point again: only the points whose description contains this text. A failure prints it. */
const only = process.env.HOLDFAST_POINT;

let covered = 0;

/**
 * Registers tests that try one fault at each request, event and handshake of the operations.
 *
 * @param every a normal run takes one of so many points, spread over all requests and kinds; a full run takes all
 * @param file the test file that calls this, for the line that runs one point again
 */
export function sweep(recipe: Recipe, operations: readonly Operation[], every: number, file: string): void {
  describe.sequential(`a fault at any request of the ${recipe.name}`, () => {
    for (const operation of operations) {
      it(`breaks no hold, and leaves no node and no waiter behind: ${operation.name}`, async () => {
        const points = await pointsOf(operation, recipe);
        expect(points.length).toBeGreaterThan(2);
        const all = points.flatMap((point) => faultsFor(point).map((kind) => ({ point, kind })));
        const chosen = all.filter(({ point, kind }) =>
          only === undefined ? true : describePoint(point, kind).includes(only),
        );
        const what = `points of ${recipe.name}, ${operation.name}`;
        const part = Math.ceil(chosen.length / every);
        const count = only === undefined ? share(what, part, all.length) : all.length;
        const wrong: string[] = [];
        for (const [index, { point, kind }] of chosen.entries()) {
          if (count < all.length && index % every !== 0) continue;
          const title = describePoint(point, kind);
          const { hit, violations, grants, lines } = await tryPoint(point, kind);
          if (!hit && !(operation.races === true && point.target === "event"))
            violations.push("the fault did not happen");
          if (grants === 0) violations.push("nobody was ever granted");
          if (violations.length > 0) {
            wrong.push(
              `${title}\n  ${violations.join("\n  ")}\n  event log: ${writeLog(title, lines)}\n  again: ${again(title, file)}`,
            );
          }
          covered += 1;
        }
        expect(wrong, wrong.join("\n")).toEqual([]);
        console.log(
          `${recipe.name}, ${operation.name}: ${requestsOf(points)}; ${covered} points covered so far`,
        );
      }, 3_600_000);
    }
  });
}

function requestsOf(points: readonly Point[]): string {
  const of = (target: Point["target"]): number => points.filter((point) => point.target === target).length;
  return `${of("request")} requests, ${of("event")} events, ${of("connect")} handshakes`;
}

function again(title: string, file: string): string {
  return `HOLDFAST_POINT='${title}' npx vitest run --project servers ${file}`;
}
