// The load on the embedded server, in a process of its own, so that it takes no time of the server's process.
import { createFrame, nodeFrames, pairFrames } from "./frames.js";
import type { Load, LoadDone } from "./messages.js";
import { Pump } from "./pump.js";

const populateInFlight = 256;

/** Create and delete, again and again, on one connection. Only the second round is measured. */
async function runPairs({ port, pairs, inFlight }: Extract<Load, { kind: "pairs" }>): Promise<LoadDone> {
  const pump = await Pump.open(port);
  await pump.run(one(createFrame(1, "/bench")), 1);
  const warmUp = pairFrames(Math.ceil(pairs / 5), 2);
  const measured = pairFrames(pairs, 2 + warmUp.ends.length);
  await pump.run(warmUp, inFlight);
  const startedMs = performance.now();
  await pump.run(measured, inFlight);
  const tookMs = performance.now() - startedMs;
  pump.destroy();
  return { tookMs };
}

/** Opens the sessions, which stay until this process ends, and spreads the nodes over them. */
async function populate({ port, sessions, znodes }: Extract<Load, { kind: "populate" }>): Promise<LoadDone> {
  const startedMs = performance.now();
  for (let at = 0; at < sessions; at++) {
    const pump = await Pump.open(port);
    const share = Math.floor(((at + 1) * znodes) / sessions) - Math.floor((at * znodes) / sessions);
    if (share === 0) continue;
    // The parent counts as one of the nodes.
    const parent = `/service-${String(at).padStart(5, "0")}`;
    await pump.run(one(createFrame(1, parent)), 1);
    if (share > 1) await pump.run(nodeFrames(parent, share - 1, 2), populateInFlight);
  }
  return { tookMs: performance.now() - startedMs };
}

function one(bytes: Buffer): { bytes: Buffer; ends: Int32Array } {
  return { bytes, ends: Int32Array.of(bytes.length) };
}

process.on("disconnect", () => process.exit());
process.on("message", async (load: Load) => {
  process.send?.(load.kind === "pairs" ? await runPairs(load) : await populate(load));
});
