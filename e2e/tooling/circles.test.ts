import { expect, it } from "vitest";
import { importCircles } from "../../scripts/circles.mjs";

it("source files import each other in no circle, types counted", () => {
  expect(importCircles()).toEqual([]);
});
