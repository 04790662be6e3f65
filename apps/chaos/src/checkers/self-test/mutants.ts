import type { CheckerName } from "../judge.js";
import type { Guard } from "./guards.js";

/** Every guard of the simulated recipe, and the checker that must convict the recipe without it. */
export const mutants: readonly { readonly without: Guard; readonly convictedBy: CheckerName }[] = [
  { without: "watch the predecessor", convictedBy: "mutex" },
  { without: "look again after waking", convictedBy: "mutex" },
  { without: "release only one's own", convictedBy: "mutex" },
  { without: "tokens from the server", convictedBy: "fence-order" },
  { without: "tell of a lost session", convictedBy: "belief" },
  { without: "promise less than the lease", convictedBy: "advertised" },
  { without: "check tokens at the resource", convictedBy: "fence-effect" },
  { without: "wake the next", convictedBy: "handover" },
  { without: "serve in order", convictedBy: "fifo" },
  { without: "count permits", convictedBy: "permits" },
  { without: "readers wait for writers", convictedBy: "rw" },
  { without: "downgrade in one step", convictedBy: "rw" },
  { without: "free at the outermost release", convictedBy: "mutex" },
  { without: "report one's own count", convictedBy: "reentry" },
  { without: "give up in time", convictedBy: "bounded-wait" },
  { without: "take back what was given up", convictedBy: "leaks" },
  { without: "open at the last countdown", convictedBy: "latch" },
  { without: "refuse only what is held", convictedBy: "refusals" },
  { without: "serve after a fault", convictedBy: "heal-liveness" },
];
