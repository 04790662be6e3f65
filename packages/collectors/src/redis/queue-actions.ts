import { fairKeys, mutexKeys, redissonChannels } from "@holdfast/redis-recipes/internal";
import type { Outcome } from "../kit/action.js";
import type { ActionRequest } from "../observe/collector.js";
import { type Acting, type ActionRunner, unsupported } from "./action-runner.js";
import { takeOut } from "./action-scripts.js";
import { effectsOfCleaning, effectsOfEviction } from "./effects.js";

/** Takes one waiter out of the queue. */
export async function evict({ runner, request, whoIs }: Acting): Promise<Outcome> {
  const { entry } = request;
  if (entry === null || entry === "") return unsupported("Say which waiter.");
  // The lock has another holder, or the waiter has got the lock meanwhile, or has gone.
  const none: Outcome = { outcome: "conflict", effects: [] };
  return await takeOutOf(runner, request, "one", none, () => effectsOfEviction(entry, whoIs));
}

/** Takes all dead waiters out of the queue. */
export async function clean({ runner, request, whoIs }: Acting): Promise<Outcome> {
  const none: Outcome = { outcome: "nothing-there", effects: effectsOfCleaning([], whoIs) };
  return await takeOutOf(runner, request, "dead", none, (owners) => effectsOfCleaning(owners, whoIs));
}

/** `none`: the outcome where there is no such entry. */
async function takeOutOf(
  runner: ActionRunner,
  request: ActionRequest,
  what: "one" | "dead",
  none: Outcome,
  effectsOf: (owners: readonly string[]) => readonly string[],
): Promise<Outcome> {
  const { key, entry, dryRun } = request;
  const { lock, token, queue, deadlines, alive } = fairKeys(key);
  const keys = [lock, mutexKeys(key).waiters, alive, queue, deadlines, token];
  const waitMs = runner.settings.fairLockWaitTimeoutMs;
  const args = [what, entry ?? "", waitMs, runner.publish, redissonChannels.mutex(key)];
  const [first, owners] = await runner.act(request, { lua: takeOut, keys, args });
  // The lock has another holder than when the operator decided.
  if (first === "changed") return { outcome: "conflict", effects: [] };
  if (!Array.isArray(owners) || owners.length === 0) return none;
  return { outcome: dryRun ? "would-do" : "done", effects: effectsOf(owners.map(String)) };
}
