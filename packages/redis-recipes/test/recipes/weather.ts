import type { Chance } from "./chance.js";
import { calm, type Weather } from "./simulated-line.js";

/** Nothing is lost, and nothing waits for long. */
export function fairWeather(chance: Chance): Weather {
  return { ...calm, delayMs: () => chance.below(20) };
}

/**
 * Requests and replies of one connection keep their order, as TCP has it, but for those whose script the server had forgotten; of a
 * broken one they may arrive long after. Messages come on another connection: late or never; and twice, as while two
 * subscriptions of one client stand, which a reconnect in a cluster makes.
 */
export function badWeather(chance: Chance): Weather {
  return {
    delayMs: () => (chance.of(0.03) ? chance.below(2_500) : chance.below(30)),
    strayMs: () => (chance.of(0.5) ? chance.below(4_000) : null),
    reorders: () => chance.of(0.02),
    message: () => {
      if (chance.of(0.15)) return [];
      const first = chance.of(0.1) ? chance.below(6_000) : chance.below(30);
      return chance.of(0.1) ? [first, first + chance.below(6_000)] : [first];
    },
  };
}
