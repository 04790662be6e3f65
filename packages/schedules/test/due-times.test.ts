import { expect, it } from "vitest";
import { dueTimes, lastDue } from "../src/due-times.js";

it.each([60_000, 86_400_000 / 49, 1000 / 3, 1.1])(
  "the due times of every %d ms come one after the other, none twice and none left out",
  (every) => {
    const times = dueTimes(every);
    const first = Math.floor(1_769_904_000_000 / every);
    for (let nth = first; nth < first + 10_000; nth++) {
      if (times.after(nth * every) !== (nth + 1) * every) expect([nth, times.after(nth * every)]).toEqual([]);
    }
    expect(lastDue(times, first * every, (first + 50) * every)).toBe((first + 50) * every);
  },
);
