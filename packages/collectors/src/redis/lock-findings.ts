import { span } from "../judge/durations.js";
import { shortId } from "../judge/who-is.js";
import { dated, type Found } from "../kit/finding-times.js";
import type { Finding, FindingKind } from "../observe/collector.js";
import type { Listeners } from "./channels.js";
import type { LockRecord } from "./lock-record.js";
import { isBelow } from "./owner-words.js";

const nothingWrong: readonly Finding[] = [];
/**
 * The time after which a queue without a holder is a finding. Between a release and the next grant there is no holder
 * either.
 */
const ownerlessForMs = 2_000;

/** What is wrong with one lock as it was last read. */
export function findingsOf(record: LockRecord, listeners: Listeners | undefined): readonly Finding[] {
  const { key, shape, atMs, leftMs, token, queue, queued, fair, highestToken } = record;
  const found: Found[] = [];
  const tell = (
    kind: FindingKind,
    severity: Finding["severity"],
    evidence: string,
    advice: string,
    sinceMs?: number,
  ): void => {
    const since = sinceMs === undefined ? {} : { sinceMs };
    found.push({ id: `${kind} ${key}`, kind, severity, object: key, evidence, advice, ...since });
  };
  if (shape.is === "lock" && leftMs === -1) {
    tell(
      "no-lease",
      "critical",
      "The key of the lock has no TTL: it stays held when its holder dies.",
      "Find out what removed it (PERSIST, or a command that writes the key anew); free the lock by force once its holder is known to be gone.",
    );
  }
  for (const { field, lease } of record.followed) {
    if (lease.state !== "not-renewing") continue;
    tell(
      "not-renewing",
      "warning",
      `The lease of ${shortId(field)} was renewed${lease.leaseMs === null ? "" : ` to ${span(lease.leaseMs)}`} and then not in time; ${span(leftMs)} left.`,
      "The holder is paused, cut off or dead: the lock becomes free when the lease is over.",
    );
  }
  const mixed = mixture(record);
  if (mixed !== null) {
    tell(
      "mixed-kinds",
      "critical",
      mixed,
      "One name is used for locks of several kinds, which do not exclude each other: give each kind a name of its own.",
    );
  }
  if (record.ownerlessSinceMs !== null && atMs - record.ownerlessSinceMs >= ownerlessForMs) {
    const first = queue.first?.split(" ")[0] ?? "";
    const unheard = fair && listeners !== undefined && !listeners.fair.has(first);
    const heard = fair ? (unheard ? ", for which no client listens" : "") : "";
    tell(
      "queue-without-holder",
      "warning",
      `${queued} waiting and no holder; the first is ${shortId(first)}${heard}.`,
      "The first in the queue is most likely dead: clean up dead entries, or remove that entry if its client is known to be gone.",
      record.ownerlessSinceMs,
    );
  }
  if (highestToken !== null && token !== null && isBelow(token, highestToken)) {
    tell(
      "token-regressed",
      "critical",
      `The fencing token is ${token}, and ${highestToken} was seen before.`,
      "Data was lost, an older snapshot was restored, or the clock of a new master is behind: resources that compare tokens refuse the present holder.",
    );
  }
  return found.length === 0 ? nothingWrong : dated(found, record.findings, atMs);
}

function mixture({ shape, queue, queued, fair }: LockRecord): string | null {
  if (shape.is === "permits" && queued > 0)
    return "The key holds the number of a semaphore, and a queue of a lock stands beside it.";
  if (shape.is !== "lock") return null;
  if (shape.mode === null && shape.fields.some(({ field }) => field.endsWith(":write")))
    return "The hash of a mutex has the field of a writer.";
  if (shape.mode === null && shape.fields.length > 1)
    return `The hash of a mutex names ${shape.fields.length} holders.`;
  if (shape.mode !== null && fair) return "A read-write lock has the queue of a fair lock beside it.";
  if (fair && queue.ours > 0) return "The queues of a fair lock and of a plain one stand beside each other.";
  return null;
}
