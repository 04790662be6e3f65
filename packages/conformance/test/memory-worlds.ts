import type { Fixture } from "@holdfast/conformance";
import type { Runtime } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { share } from "../../../e2e/support/share.js";

/** How a hold is lost: the session of its provider ends, or the hold is taken away from it. */
type Loss = "session" | "theft";

/** Memory locks under one kind of loss, by the system's clock or by a simulated one. */
interface MemoryWorld {
  readonly name: string;
  fixture(): Promise<Fixture>;
}

const losses: readonly Loss[] = ["session", "theft"];
const seeds = [1, 20_061, 3_735_928_559];

/**
 * Each kind of loss by the system's clock and by a simulated clock of each seed. A normal run takes two of these eight, in which each
 * kind of loss and each kind of clock is met once: what a suite asks of the locks hardly depends on the two together.
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

/** A fixture whose simulated clock goes on by itself until the fixture is closed. */
export function simulatedWorld(seed: number, make: (runtime: Runtime) => Fixture): Fixture {
  const runtime = simulatedRuntime(seed);
  const running = runtime.autoAdvance();
  return { ...make(runtime), close: async () => running[Symbol.dispose]() };
}
