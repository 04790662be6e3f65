import { BackendError } from "@holdfast/core";
import type { LockDriver } from "@holdfast/core/driver";
import { simulatedRuntime } from "@holdfast/core/testing";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

export const outage = () => new BackendError("no answer", { backend: "memory" });
export const refusal = () => new BackendError("not you", { backend: "memory", retryable: false });

/** Waits until everything that is due by now has run. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));

export type Settings = NonNullable<Parameters<typeof scripted>[2]>;

/** An election whose backend is controlled by the test. */
export function standing(settings: Settings = {}) {
  const runtime = simulatedRuntime(41);
  const made = scripted(runtime, "session", settings);
  const elect = (grant = new ScriptedGrant(runtime.nowMs() + 600_000)) => {
    made.last().granted.resolve(grant);
    return grant;
  };
  return { runtime, elect, election: made.provider.leaderElection("e"), ...made };
}

export async function elected(driver: Partial<LockDriver> = {}, settings: Settings = {}) {
  const made = standing({ driver, ...settings });
  const campaign = made.election.campaign({ label: "given" });
  const grant = made.elect();
  return { ...made, grant, term: await campaign };
}
