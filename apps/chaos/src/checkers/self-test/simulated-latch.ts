import { networkMs, type SimulatedWorld } from "./simulated-world.js";

const key = "latch";

/** Two workers that wait for five countdowns, and one worker that counts down. */
export function latchScene(world: SimulatedWorld): void {
  const awaiting = ["x0#0", "x1#0"].map((p) => {
    const op = world.nextOp();
    world.add({ type: "invoke", p, f: "await", key, op });
    return { p, op };
  });
  const opens = world.has("open at the last countdown") ? 5 : 4;
  let counted = 0;
  for (let n = 1; n <= 5; n++) {
    world.in(n * 10, () => {
      const op = world.nextOp();
      world.add({ type: "invoke", p: "y0#0", f: "count-down", key, op });
      world.in(networkMs, () => {
        world.add({ type: "ok", p: "y0#0", f: "count-down", key, op });
        if (++counted !== opens) return;
        for (const { p, op: awaits } of awaiting) world.add({ type: "ok", p, f: "await", key, op: awaits });
      });
    });
  }
}
