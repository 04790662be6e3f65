import type { History, Hold, KeyHistory } from "../history/history.js";
import type { EffectRecord } from "../history/record.js";
import { Examples, seconds } from "./examples.js";
import { hasWriters } from "./kinds.js";
import type { CheckResult } from "./verdict.js";

/** Accepted writes of an older holder after a newer one's first: the damage that fencing must prevent. */
export function fenceEffect(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let rejected = 0;
  for (const about of history.keys.values()) {
    if (!hasWriters(about) || about.meta.fenced !== true) continue;
    judged += about.effects.length;
    for (const effect of about.effects) if (!effect.accepted) rejected += 1;
    stale(about, examples);
  }
  return examples.result("fence-effect", { judged, what: "writes", metrics: { rejected } });
}

/** What damage was done at the protected resources: writes of an older holder, and updates that were overwritten. */
export function effect(history: History): CheckResult {
  const examples = new Examples();
  let judged = 0;
  let rejected = 0;
  for (const about of history.keys.values()) {
    judged += about.effects.length;
    for (const { accepted } of about.effects) if (!accepted) rejected += 1;
    if (!hasWriters(about)) continue;
    stale(about, examples);
    overwritten(about, examples);
  }
  return examples.result("effect", { judged, what: "writes", metrics: { rejected } });
}

/** Read-modify-writes: the final value is at least what it was plus one for each write that was acknowledged. */
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
    // Where no record says who asked, a write that was accepted counts as acknowledged.
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

/** Finds stale writes: by tokens where there are any, else by who wrote first. Writes of one owner's nested holds belong together. */
function stale(about: KeyHistory, examples: Examples): void {
  const holds = new Map<string, Hold>();
  for (const hold of about.holds) if (hold.mode === "write") holds.set(hold.id, hold);
  const ranks = new Map<string, number>();
  let newest: EffectRecord | null = null;
  let newestRank = 0;
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
    const owner = hold?.owner.includes("/") ? hold.owner : write.hold;
    const rank = ranks.get(owner);
    if (rank === undefined || (rank < newestRank && hold !== undefined && regained(hold, newest))) {
      ranks.set(owner, ++newestRank);
      newest = write;
    } else if (rank < newestRank) {
      const over = newest;
      examples.add([over?.i ?? -1, write.i], () => staleText(about.key, write, over ?? write));
    }
  }
}

/** An owner whose hold began after the newer one's write has the lock again. */
const regained = (hold: Hold, newest: EffectRecord | null): boolean =>
  newest !== null && hold.from >= newest.t;

const staleText = (key: string, write: EffectRecord, over: EffectRecord): string =>
  `${key}: a write of ${write.hold}${token(write)} was accepted at ${seconds(write.t)} after ${over.hold}${token(over)} had written`;

const token = (write: EffectRecord): string => (write.token === undefined ? "" : ` (token ${write.token})`);
