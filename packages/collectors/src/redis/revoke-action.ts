import {
  mutexAsk,
  mutexKeyList,
  mutexKeys,
  ourChannels,
  permitKeyList,
  permitKeys,
  readWriteAsk,
  semaphoreAsk,
} from "@holdfast/redis-recipes/internal";
import type { ActionRequest } from "../observe/collector.js";
import { type ActionDesk, type Outcome, outcomeOf, unsupported } from "./action-desk.js";
import { guarded, guardedPermits } from "./action-scripts.js";
import { effectsOfRevoke } from "./effects.js";
import type { LockRecord } from "./lock-record.js";

/** Asks the holders for the lock. */
export async function revoke(
  desk: ActionDesk,
  request: ActionRequest,
  { kind, shape }: LockRecord,
): Promise<Outcome> {
  const { key, entry, expectedVersion, dryRun } = request;
  if (kind === "semaphore" || kind === "permit-semaphore") return revokePermits(desk, request);
  if (shape.is !== "lock") return unsupported("Nobody holds it.");
  const fields = shape.fields.map(({ field }) => field);
  if (entry !== null && !fields.includes(entry)) return { outcome: "conflict", effects: [] };
  const effects = effectsOfRevoke(fields);
  const [, token = ""] = mutexKeyList(mutexKeys(key));
  const mark = [dryRun ? "dry" : "act", expectedVersion];
  const { mode } = shape;
  const reply =
    mode === null
      ? await desk.eval(key, guarded(mutexAsk), [key, token], mark)
      : await desk.eval(key, guarded(readWriteAsk), [key, token], [...readWriteAsk.args({ mode }), ...mark]);
  if (reply[0] === "foreign") return { outcome: "unsupported", effects };
  if (reply[0] === "same" && !effects.some((each) => each.includes("revokeRequested")))
    return { outcome: "unsupported", effects };
  return outcomeOf(reply, "asked", effects);
}

async function revokePermits(
  desk: ActionDesk,
  { key, dryRun, expectedVersion }: ActionRequest,
): Promise<Outcome> {
  const effects = [
    'Holders of holdfast that took permits with revocable: true hear "revokeRequested" and decide for themselves, all of them, as permits do not say whose they are. Redisson has no such request.',
  ];
  const { clustered } = desk.places;
  // Either way, since a fleet of holders may have the one or the other switched on.
  const commands = clustered ? (["spublish", "publish"] as const) : (["publish"] as const);
  const keys = permitKeyList(permitKeys(key));
  let heard = 0;
  for (const [at, command] of commands.entries()) {
    const args = semaphoreAsk.args({ channel: ourChannels.permitsWanted(key), command });
    // Compared once: the other way to publish is the same act.
    const first = at === 0;
    const script = first ? guardedPermits(semaphoreAsk, null) : semaphoreAsk.lua;
    const mark = first ? [dryRun ? "dry" : "act", expectedVersion] : [];
    const reply = await desk.eval(key, script, keys, [...args, ...mark]);
    if (reply[0] === "changed" || reply[0] === "same") return outcomeOf(reply, "asked", effects);
    heard += Number(reply[1]);
  }
  // Of plain channels a server of a cluster counts its own listeners only.
  const unheard = heard === 0 && !clustered;
  return unheard
    ? { outcome: "unsupported", effects: ["No holder listens for such a request."] }
    : { outcome: "done", effects };
}
