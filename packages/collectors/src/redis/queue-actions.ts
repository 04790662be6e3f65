import { fairKeys, mutexKeys, redissonChannels } from "@holdfast/redis-recipes/internal";
import type { ActionRequest } from "../observe/collector.js";
import { type ActionRunner, type Outcome, unsupported } from "./action-runner.js";
import { takeOut } from "./action-scripts.js";
import { effectsOfCleaning, effectsOfEviction } from "./effects.js";

/** Takes one waiter out of the queue. */
export async function evict(desk: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const { entry, dryRun } = request;
  if (entry === null) return unsupported("Say which waiter.");
  const owners = await takeOutOf(desk, request, "one");
  // The lock has changed hands, or it has got it meanwhile, or gone.
  if (owners === null || owners.length === 0) return { outcome: "conflict", effects: [] };
  return { outcome: dryRun ? "would-do" : "done", effects: effectsOfEviction(entry) };
}

/** Takes those out of the queue that are dead. */
export async function clean(desk: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const { dryRun } = request;
  const owners = await takeOutOf(desk, request, "dead");
  if (owners === null) return { outcome: "conflict", effects: [] };
  const effects = effectsOfCleaning(owners);
  if (owners.length === 0) return { outcome: "nothing-there", effects };
  return { outcome: dryRun ? "would-do" : "done", effects };
}

/** `null`: another owner holds it than when the action was decided. */
async function takeOutOf(
  desk: ActionRunner,
  { key, entry, dryRun, expectedVersion }: ActionRequest,
  what: "one" | "dead",
): Promise<readonly string[] | null> {
  const { lock, token, queue, deadlines, alive } = fairKeys(key);
  const { waiters } = mutexKeys(key);
  const args = [
    what,
    entry ?? "",
    desk.settings.fairLockWaitTimeoutMs,
    desk.publish,
    redissonChannels.mutex(key),
    dryRun ? "dry" : "act",
    expectedVersion,
  ];
  const reply = await desk.eval(key, takeOut, [lock, waiters, alive, queue, deadlines, token], args);
  const [first, owners] = reply;
  if (first === "changed") return null;
  return Array.isArray(owners) ? owners.map(String) : [];
}
