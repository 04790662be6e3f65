import { expect, test } from "vitest";
import type { Command } from "../../src/client/commands.js";
import { NotSentError } from "../../src/client/errors.js";
import { MeteredFlight } from "../../src/client/request-meter.js";

test("a command that was not written is not reported, neither when it settles nor at the end", () => {
  const told: string[] = [];
  const meter = { wanted: true, settled: ({ op }: { op: string }) => void told.push(op) };
  const written: Command = ["wait", 1, 0];
  const unwritten: Command = ["asking"];
  const flight = new MeteredFlight(meter, [unwritten, written], 0);
  flight.settled(unwritten, { error: new NotSentError("no connection", { servers: [] }) }, 1);
  flight.over(2);
  expect(told).toEqual(["wait"]);
});
