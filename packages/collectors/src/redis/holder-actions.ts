import {
  type FieldsKind,
  isPermitId,
  type LockKeys,
  mutex,
  permitSemaphore,
  redisKinds,
  releasePermits,
} from "@holdfast/redis-recipes/internal";
import type { Outcome } from "../kit/action.js";
import type { ActionRequest } from "../observe/collector.js";
import { type Acting, type ActionRunner, outcomeOf, unsupported } from "./action-runner.js";
import { guarded, guardedPermits } from "./action-scripts.js";
import { effectsOfForce, effectsOfPermit, effectsOfRevoke } from "./effects.js";
import { plainName } from "./key-names.js";
import type { LockRecord } from "./lock-record.js";

/** Frees the lock, or gives one permit back, whichever client holds it. */
export async function force({ runner, request, record, lock, whoIs }: Acting): Promise<Outcome> {
  if (record.kind === "permit-semaphore") return givePermit(runner, request);
  const held = heldLock(record, request);
  if ("outcome" in held) return held;
  const call = held.kind.force(held.keys, runner, held.mode);
  const reply = await runner.act(request, { ...call, lua: guarded(call.script) });
  return ending(held.fields, outcomeOf(reply, "forced", effectsOfForce(lock, held.fields, whoIs)));
}

async function givePermit(runner: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const { key, entry } = request;
  if (entry === null) return unsupported("Say which permit: each is a hold of its own.");
  if (!isPermitId(entry)) return unsupported("That is no id of a permit that can be given back here.");
  const call = releasePermits(permitSemaphore.keysOf(key), [entry], runner.publish);
  // The id is the third argument, after how to publish and the channel.
  const reply = await runner.act(request, { ...call, lua: guardedPermits(call.script, 3) });
  return ending([entry], outcomeOf(reply, "released", effectsOfPermit(entry)));
}

function ending(endedHolds: readonly string[], outcome: Outcome): Outcome {
  return outcome.outcome === "done" ? { ...outcome, endedHolds } : outcome;
}

/** Asks the holders to release the lock. */
export async function revoke({ runner, request, record, whoIs }: Acting): Promise<Outcome> {
  const { kind } = record;
  if (kind === "semaphore" || kind === "permit-semaphore") return revokePermits(runner, request);
  const held = heldLock(record, request);
  if ("outcome" in held) return held;
  const effects = effectsOfRevoke(held.fields, whoIs);
  const call = held.kind.requestRevoke(held.keys, runner, held.mode);
  // These keys include the token, which the condition in front reads.
  const reply = await runner.act(request, {
    ...call,
    keys: held.keys.renewKeys,
    lua: guarded(call.script),
  });
  const unheard = reply[0] === "same" && !effects.some((each) => each.includes("revokeRequested"));
  if (reply[0] === "foreign" || unheard) return { outcome: "unsupported", effects };
  return outcomeOf(reply, "asked", effects);
}

async function revokePermits(runner: ActionRunner, request: ActionRequest): Promise<Outcome> {
  const effects = [
    'Holders of holdfast that took permits with revocable: true hear "revokeRequested" and decide for themselves; all of them, as permits have no owner in the backend. Redisson has no such request.',
  ];
  const { key } = request;
  const { clustered } = runner.places;
  // Both ways to publish, because holders may listen on sharded or on plain channels.
  const commands = clustered ? (["spublish", "publish"] as const) : (["publish"] as const);
  const keys = permitSemaphore.keysOf(key);
  let heard = 0;
  for (const [at, publish] of commands.entries()) {
    const { script, args } = permitSemaphore.requestRevoke(keys, { ...runner, publish }, "write");
    // The version is compared only once: publishing the other way is part of the same action.
    const reply =
      at === 0
        ? await runner.act(request, { keys: keys.keys, args, lua: guardedPermits(script, null) })
        : await runner.eval(key, script.lua, keys.keys, args.flat());
    if (reply[0] === "changed" || reply[0] === "same") return outcomeOf(reply, "asked", effects);
    heard += Number(reply[1]);
  }
  // A server of a cluster counts only its own listeners of a plain channel.
  const unheard = heard === 0 && !clustered;
  return unheard
    ? { outcome: "unsupported", effects: ["No holder listens for such a request."] }
    : { outcome: "done", effects };
}

/** A lock whose holders are fields of a hash. */
interface HeldLock {
  readonly kind: FieldsKind;
  readonly keys: LockKeys;
  readonly fields: readonly string[];
  readonly mode: "read" | "write";
}

/** The lock and its holders, or why nothing can be done to them. */
function heldLock({ shape, kind }: LockRecord, { key, entry }: ActionRequest): HeldLock | Outcome {
  if (shape.is !== "lock")
    return unsupported(
      kind === "semaphore"
        ? "Permits of a semaphore without leases have no owner: RSemaphore.addPermits() puts lost ones back."
        : "It is not held.",
    );
  const fields = shape.fields.map(({ field }) => field);
  if (entry !== null && !fields.includes(entry)) return { outcome: "conflict", effects: [] };
  const known = kind === null ? undefined : redisKinds.get(kind);
  const record = known?.force === undefined ? mutex : (known as FieldsKind);
  const keys = record.keysOf(kind === "leader-election" ? plainName(key) : key);
  return { kind: record, keys, fields, mode: shape.mode ?? "write" };
}
