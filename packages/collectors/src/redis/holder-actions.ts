import type { PrimitiveKind } from "@holdfast/core";
import {
  type FieldsKind,
  isPermitId,
  type LockKeys,
  mutex,
  permitSemaphore,
  redisKinds,
  releasePermits,
} from "@holdfast/redis-recipes/internal";
import type { ActionRequest } from "../observe/collector.js";
import type { ObservedLock } from "../observe/observed-lock.js";
import { type ActionRunner, type Outcome, outcomeOf, unsupported } from "./action-runner.js";
import { guarded, guardedPermits } from "./action-scripts.js";
import { effectsOfForce, effectsOfPermit, effectsOfRevoke } from "./effects.js";
import { plainName } from "./key-names.js";
import type { LockRecord } from "./lock-record.js";

/** Frees the lock, or gives one permit back, under any holder. `lock`: as it was before. */
export async function force(
  desk: ActionRunner,
  request: ActionRequest,
  { shape }: LockRecord,
  lock: ObservedLock,
): Promise<Outcome> {
  if (lock.kind === "permit-semaphore") return givePermit(desk, request);
  if (shape.is !== "lock")
    return unsupported(
      lock.kind === "semaphore"
        ? "Permits of a semaphore without leases belong to nobody: RSemaphore.addPermits() puts lost ones back."
        : "Nobody holds it.",
    );
  const fields = shape.fields.map(({ field }) => field);
  if (request.entry !== null && !fields.includes(request.entry)) return { outcome: "conflict", effects: [] };
  const { kind, keys } = fieldsLock(lock.kind, request.key);
  const call = kind.force(keys, desk, shape.mode ?? "write");
  const reply = await desk.act(request, { ...call, lua: guarded(call.script) });
  return outcomeOf(reply, "forced", effectsOfForce(lock, fields));
}

async function givePermit(desk: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const { key, entry } = request;
  if (entry === null) return unsupported("Say which permit: each is a hold of its own.");
  if (!isPermitId(entry)) return unsupported("That is no id of a permit that can be given back here.");
  const call = releasePermits(permitSemaphore.keysOf(key), [entry], desk.publish);
  // Behind how to publish and the channel.
  const reply = await desk.act(request, { ...call, lua: guardedPermits(call.script, 3) });
  return outcomeOf(reply, "released", effectsOfPermit(entry));
}

/** Asks the holders for the lock. */
export async function revoke(
  desk: ActionRunner,
  request: ActionRequest,
  record: LockRecord,
): Promise<Outcome> {
  const { shape } = record;
  if (record.kind === "semaphore" || record.kind === "permit-semaphore") return revokePermits(desk, request);
  if (shape.is !== "lock") return unsupported("Nobody holds it.");
  const fields = shape.fields.map(({ field }) => field);
  if (request.entry !== null && !fields.includes(request.entry)) return { outcome: "conflict", effects: [] };
  const effects = effectsOfRevoke(fields);
  const { kind, keys } = fieldsLock(record.kind, request.key);
  const call = kind.requestRevoke(keys, desk, shape.mode ?? "write");
  // The token is read by the condition in front.
  const reply = await desk.act(request, { ...call, keys: keys.renewKeys, lua: guarded(call.script) });
  if (reply[0] === "foreign") return { outcome: "unsupported", effects };
  if (reply[0] === "same" && !effects.some((each) => each.includes("revokeRequested")))
    return { outcome: "unsupported", effects };
  return outcomeOf(reply, "asked", effects);
}

async function revokePermits(desk: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const effects = [
    'Holders of holdfast that took permits with revocable: true hear "revokeRequested" and decide for themselves, all of them, as permits do not say whose they are. Redisson has no such request.',
  ];
  const { key } = request;
  const { clustered } = desk.places;
  // Either way, since a fleet of holders may have the one or the other switched on.
  const commands = clustered ? (["spublish", "publish"] as const) : (["publish"] as const);
  const keys = permitSemaphore.keysOf(key);
  let heard = 0;
  for (const [at, publish] of commands.entries()) {
    const { script, args } = permitSemaphore.requestRevoke(keys, { ...desk, publish }, "write");
    // Compared once: the other way to publish is the same act.
    const reply =
      at === 0
        ? await desk.act(request, { keys: keys.keys, args, lua: guardedPermits(script, null) })
        : await desk.eval(key, script.lua, keys.keys, args.flat());
    if (reply[0] === "changed" || reply[0] === "same") return outcomeOf(reply, "asked", effects);
    heard += Number(reply[1]);
  }
  // Of plain channels a server of a cluster counts its own listeners only.
  const unheard = heard === 0 && !clustered;
  return unheard
    ? { outcome: "unsupported", effects: ["No holder listens for such a request."] }
    : { outcome: "done", effects };
}

/** A lock whose holders are fields of a hash. */
function fieldsLock(
  kind: PrimitiveKind | null,
  key: string,
): { readonly kind: FieldsKind; readonly keys: LockKeys } {
  const known = kind === null ? undefined : redisKinds.get(kind);
  const record = known?.force === undefined ? mutex : (known as FieldsKind);
  return { kind: record, keys: record.keysOf(kind === "leader-election" ? plainName(key) : key) };
}
