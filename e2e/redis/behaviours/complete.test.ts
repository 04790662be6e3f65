import { describe, expect, it } from "vitest";
import { numberedTitles } from "../../behaviours/titles.js";
import { behaviours, javaOnly } from "./register.js";

const numbers = Object.keys(behaviours).map(Number);
const titles = numberedTitles((folder) => folder === "redis");
const shown = new Set(titles.map(({ number }) => number));
const line = (number: number) => `${number}: ${behaviours[number]}`;

describe("the register of Redisson's behaviours", () => {
  it("has the numbers 1 to 64, each once", () => {
    expect(numbers).toEqual(Array.from({ length: 64 }, (_, i) => i + 1));
  });

  it("has a test for every number", () => {
    for (const [number, reason] of Object.entries(javaOnly)) {
      console.log(`not as in Java, of ${line(Number(number))}: ${reason}`);
    }
    console.log(`${titles.length} tests show ${shown.size} behaviours`);
    expect(numbers.filter((number) => !shown.has(number)).map(line)).toEqual([]);
  });

  it("has an entry for every number that a test claims to show", () => {
    expect(titles.filter(({ number }) => behaviours[number] === undefined)).toEqual([]);
  });

  it("gives reasons for its own numbers alone", () => {
    expect(Object.keys(javaOnly).filter((number) => behaviours[Number(number)] === undefined)).toEqual([]);
  });
});
