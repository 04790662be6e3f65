import { fairKeys, mutexKeys, redissonChannels } from "@holdfast/redis-recipes/internal";
import type { Outcome } from "../kit/action.js";
import type { ActionRequest } from "../observe/collector.js";
import { type ActionRunner, unsupported } from "./action-runner.js";
import { takeOut } from "./action-scripts.js";
import { effectsOfCleaning, effectsOfEviction } from "./effects.js";

/** Takes one waiter out of the queue. */
export async function evict(runner: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const { entry, dryRun } = request;
  if (entry === null) return unsupported("Say which waiter.");
  const owners = await takeOutOf(runner, request, "one");
  // The lock has changed hands, or it has got it meanwhile, or gone.
  if (owners === null || owners.length === 0) return { outcome: "conflict", effects: [] };
  return { outcome: dryRun ? "would-do" : "done", effects: effectsOfEviction(entry) };
}

/** Takes those out of the queue that are dead. */
export async function clean(runner: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const owners = await takeOutOf(runner, request, "dead");
  if (owners === null) return { outcome: "conflict", effects: [] };
  const effects = effectsOfCleaning(owners);
  if (owners.length === 0) return { outcome: "nothing-there", effects };
  return { outcome: request.dryRun ? "would-do" : "done", effects };
}

/** `null`: another owner holds it than when the action was decided. */
async function takeOutOf(
  runner: ActionRunner,
  request: ActionRequest,
  what: "one" | "dead",
): Promise<readonly string[] | null> {
  const { key, entry } = request;
  const { lock, token, queue, deadlines, alive } = fairKeys(key);
  const keys = [lock, mutexKeys(key).waiters, alive, queue, deadlines, token];
  const waitMs = runner.settings.fairLockWaitTimeoutMs;
  const args = [what, entry ?? "", waitMs, runner.publish, redissonChannels.mutex(key)];
  const [first, owners] = await runner.act(request, { lua: takeOut, keys, args });
  if (first === "changed") return null;
  return Array.isArray(owners) ? owners.map(String) : [];
}
