import type { History, Hold, KeyHistory } from "../history/history.js";
import type { EffectRecord, Nanos } from "../history/record.js";
import { Examples, seconds } from "./examples.js";
import { hasWriters } from "./kinds.js";
import type { CheckResult } from "./verdict.js";

/**
 * Convicts when a write of an older holder is accepted after the first write of a newer one: fencing must prevent this
 * damage.
 */
export function fenceEffect(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let rejected = 0;
  for (const about of history.keys.values()) {
    if (!hasWriters(about) || about.meta.fenced !== true) continue;
    for (const { accepted } of about.effects)
      if (accepted) judged += 1;
      else rejected += 1;
    stale(about, examples);
  }
  return examples.result("fence-effect", { judged, what: "writes", metrics: { rejected } });
}

/**
 * Convicts damage at the protected resources: accepted writes of an older holder, and updates that were overwritten.
 */
export function effect(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let rejected = 0;
  for (const about of history.keys.values()) {
    for (const { accepted } of about.effects)
      if (accepted) judged += 1;
      else rejected += 1;
    if (!hasWriters(about)) continue;
    stale(about, examples);
    overwritten(about, examples);
  }
  return examples.result("effect", { judged, what: "writes", metrics: { rejected } });
}

/** Judges read-modify-writes: the final value must be at least the first value plus one for each acknowledged write. */
export function lostUpdate(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let lost = 0;
  for (const about of history.keys.values()) {
    const writes = about.effects.filter(({ accepted, value }) => accepted && value !== undefined);
    const [first, last] = [writes[0], writes.at(-1)];
    if (!hasWriters(about) || first === undefined || last === undefined) continue;
    judged += writes.length;
    const before = examples.count;
    overwritten(about, examples);
    const asked = about.operations.filter(({ f }) => f === "write");
    // If there are no records of write requests, an accepted write counts as acknowledged.
    const acknowledged =
      asked.length > 0 ? asked.filter(({ outcome }) => outcome === "ok").length : writes.length;
    const gained = (last.value ?? 0) - (first.read ?? (first.value ?? 0) - 1);
    lost += Math.max(0, acknowledged - gained);
    if (gained < acknowledged && examples.count === before) {
      examples.add(
        [first.i, last.i],
        () => `${about.key}: ${acknowledged} increments were acknowledged, the value rose by ${gained}`,
      );
    }
  }
  return examples.result("lost-update", { judged, what: "writes", metrics: { lost } });
}

function overwritten(about: KeyHistory, examples: Examples): void {
  let before: EffectRecord | null = null;
  for (const write of about.effects) {
    if (!write.accepted) continue;
    const known = before;
    if (known?.value !== undefined && write.read !== undefined && write.read < known.value) {
      examples.add(
        [known.i, write.i],
        () =>
          `${about.key}: ${write.hold} had read ${write.read} and wrote at ${seconds(write.t)} over ${known.value} of ${known.hold}`,
      );
    }
    before = write;
  }
}

/** A place in the order of the run: a time, and the index of the record. */
type Moment = Pick<EffectRecord, "t" | "i">;

/**
 * Finds stale writes: by tokens where there are any, else by the order in which the holds began. The order of first
 * writes proves nothing: a holder that stood still may write for the first time after its successor has written.
 */
function stale(about: KeyHistory, examples: Examples): void {
  const holds = new Map<string, Hold>();
  for (const hold of about.holds) if (hold.mode === "write") holds.set(hold.id, hold);
  const beginnings = beginningsOf([...holds.values()]);
  let newest: { write: EffectRecord; began: Moment } | null = null;
  let highest: { token: bigint; write: EffectRecord } | null = null;
  for (const write of about.effects) {
    if (!write.accepted) continue;
    const hold = holds.get(write.hold);
    const token = write.token === undefined ? (hold?.token ?? null) : BigInt(write.token);
    if (token !== null) {
      const above = highest;
      if (above !== null && token < above.token) {
        examples.add([above.write.i, write.i], () => staleText(about.key, write, above.write));
      } else highest = { token, write };
      continue;
    }
    // A hold without a record of its grant counts as begun with its first write.
    const began = beginnings.get(write.hold) ?? write;
    beginnings.set(write.hold, began);
    const over = newest;
    if (over !== null && isBefore(began, over.began)) {
      examples.add([over.write.i, write.i], () => staleText(about.key, write, over.write));
    } else newest = { write, began };
  }
}

/**
 * When each hold began, by its id. A hold nested in another hold of its owner began with the outer one. `holds` must be
 * sorted by `from`.
 */
function beginningsOf(holds: readonly Hold[]): Map<string, Moment> {
  const beginnings = new Map<string, Moment>();
  const outermost = new Map<string, { readonly began: Moment; readonly to: Nanos }>();
  for (const { id, owner, from, to, grant } of holds) {
    const outer = outermost.get(owner);
    const nested = outer !== undefined && from < outer.to;
    const began = nested ? outer.began : { t: from, i: grant };
    outermost.set(owner, { began, to: nested ? Math.max(outer.to, to) : to });
    beginnings.set(id, began);
  }
  return beginnings;
}

const isBefore = (one: Moment, other: Moment): boolean =>
  one.t < other.t || (one.t === other.t && one.i < other.i);

const staleText = (key: string, write: EffectRecord, over: EffectRecord): string =>
  `${key}: a write of ${write.hold}${token(write)} was accepted at ${seconds(write.t)} after ${over.hold}${token(over)} had written`;

const token = (write: EffectRecord): string => (write.token === undefined ? "" : ` (token ${write.token})`);
