import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test } from "vitest";
import { AckedRuns } from "../../src/client/acked-runs.js";
import type { Outcome } from "../../src/client/commands.js";
import { ReplyError } from "../../src/client/errors.js";
import type { NodeConnection } from "../../src/client/node-connection.js";
import { defaultTimes } from "../../src/client/settings.js";
import { increment } from "./support.js";

const details = { servers: ["s:1"] };
const forgotten: Outcome = { error: new ReplyError("NOSCRIPT No matching script", details) };

/** The outcome of a run whose flights are answered with `flights`. The connection breaks after the last of them. */
async function outcomeOf(...flights: Outcome[][]): Promise<unknown> {
  const runtime = simulatedRuntime(1);
  let open = true;
  const connection = {
    scripts: new Set<string>(),
    vouchedRunId: "",
    servers: details.servers,
    lastCause: undefined,
    flight: async () => {
      const outcomes = flights.shift() ?? [];
      open = flights.length > 0;
      return { outcomes, sentMs: 0, answeredMs: 1, runId: "a" };
    },
  };
  const runs = new AckedRuns({
    connection: connection as unknown as NodeConnection,
    runtime,
    times: defaultTimes,
    open: () => open,
    refusal: () => null,
  });
  const run = { script: increment, keys: ["x"], args: [], asking: false };
  const asked = runs.run(run, { replicas: 1, timeoutMs: 100 });
  await runtime.advance(defaultTimes.commandTimeoutMs + 1);
  return (await asked).outcome;
}

test("a run that was executed, and could not be sent again for its replicas, has an unknown outcome", async () => {
  const executed = [{ reply: 1 }, forgotten, { reply: 0 }];
  const refusal: Outcome = { error: new ReplyError("OOM command not allowed", details) };
  for (const flights of [[executed], [executed, [refusal, refusal, { reply: 0 }]]])
    expect(await outcomeOf(...flights)).toMatchObject({ error: { name: "OutcomeUnknownError" } });
});

test("a run that the server had forgotten, and could not be sent again, was not executed", async () => {
  const flight = [forgotten, forgotten, { reply: 0 }];
  expect(await outcomeOf(flight)).toMatchObject({ error: { name: "NotSentError" } });
});
