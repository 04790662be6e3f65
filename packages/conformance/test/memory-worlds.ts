import type { Fixture } from "@holdfast/conformance";
import type { Runtime } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { share } from "../../../e2e/support/share.js";

/** How a hold is lost: its provider's session ends, or the hold is stolen. */
type Loss = "session" | "theft";

/** Memory locks with one way of losing a hold, on the system's clock or on a simulated one. */
interface MemoryWorld {
  readonly name: string;
  fixture(): Promise<Fixture>;
}

const losses: readonly Loss[] = ["session", "theft"];
const seeds = [1, 20_061, 3_735_928_559];

/**
 * Each way of losing a hold, on the system's clock and on a simulated clock for each seed. A normal run takes two of these eight:
 * each way of losing and each kind of clock once. The results of a suite hardly depend on the combination.
 */
export function memoryWorlds(make: (loss: Loss, runtime?: Runtime) => Fixture): readonly MemoryWorld[] {
  const real = losses.map((loss) => ({ name: `memory, ${loss}`, fixture: async () => make(loss) }));
  const simulated = losses.toReversed().flatMap((loss) =>
    seeds.map((seed) => ({
      name: `memory, ${loss}, seed ${seed}`,
      fixture: async () => simulatedWorld(seed, (runtime) => make(loss, runtime)),
    })),
  );
  const [first, ...others] = real;
  const all = [first, ...simulated, ...others].filter((world) => world !== undefined);
  return all.slice(0, share("worlds of memory locks", 2, all.length));
}

/** A fixture whose simulated clock runs by itself until the fixture is closed. */
export function simulatedWorld(seed: number, make: (runtime: Runtime) => Fixture): Fixture {
  const runtime = simulatedRuntime(seed);
  const running = runtime.autoAdvance();
  return { ...make(runtime), close: async () => running[Symbol.dispose]() };
}
