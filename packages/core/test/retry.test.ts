import { expect, test } from "vitest";
import { fullJitterRetry } from "../src/index.js";

const away = new Error("away");
const bounds = (options: Parameters<typeof fullJitterRetry>[0], attempts: readonly number[]) =>
  attempts.map((attempt) =>
    Math.round(fullJitterRetry({ random: () => 1 - 2 ** -53, ...options }).next(attempt, 0, away) ?? -1),
  );

test("delays are random from 0 up to a bound that doubles and has an end, for ever", () => {
  expect(bounds({}, [1, 2, 3, 6, 7, 8, 5_000])).toEqual([50, 100, 200, 1_600, 2_000, 2_000, 2_000]);
  expect(fullJitterRetry({ random: () => 0 }).next(7, 0, away)).toBe(0);
  expect(bounds({ baseMs: 10, capMs: 15, maxAttempts: 2 }, [1, 2, 3])).toEqual([10, 15, -1]);
  const drawn = new Set(Array.from({ length: 20 }, () => fullJitterRetry().next(7, 0, away)));
  expect(drawn.size).toBeGreaterThan(10);
});
