import type { Millis } from "@holdfast/core";
import { parseOwner } from "@holdfast/redis-recipes/internal";
import { unknownMoment } from "../kit/moment.js";
import { participant } from "../kit/participant.js";
import type {
  ClientIdentity,
  ObservedLibrary,
  ObservedLock,
  ObservedParticipant,
} from "../observe/observed-lock.js";
import type { Followed, LockRecord } from "./lock-record.js";
import { libraryOf, ownerIn } from "./owner-words.js";
import { versionOf } from "./reading.js";

/** The most holders that a row shows; the others are only counted. */
const holdersInRow = 5;

export interface HoldFigures {
  readonly count: number;
  readonly leftMs: Millis | null;
  readonly mode: "exclusive" | "shared";
}

const uuidLength = 36;

/** Makes the rows that are shown from the records that are kept. */
export class Rows {
  readonly #identityOf: (uuid: string) => ClientIdentity | null;

  constructor(identityOf: (uuid: string) => ClientIdentity | null) {
    this.#identityOf = identityOf;
  }

  lock(record: LockRecord): ObservedLock {
    const { key, shape, leftMs, token, kind, state } = record;
    const { followed } = record;
    const shared = shape.is === "lock" && shape.mode !== null;
    const holders = followed.slice(0, holdersInRow).map(({ field, count }) =>
      this.holder(record, field, {
        count,
        leftMs: followed.length === 1 ? leftMs : null,
        mode: shared && !field.endsWith(":write") ? "shared" : "exclusive",
      }),
    );
    return {
      key,
      backend: "redis",
      kind,
      libraries: librariesOf(record, holders),
      state,
      holders,
      holderCount: record.holderCount,
      waiterCount: record.waiterCount,
      waiterUnit: record.waiterUnit,
      oldestWait: record.oldestWait,
      oldestHold: record.oldestHold,
      token,
      limit: shape.is === "permits" && kind === "permit-semaphore" ? shape.free + (shape.grants ?? 0) : null,
      // The version is a hash over all holders, and is rarely asked for. So it is computed on request.
      get version() {
        return versionOf({ shape, token });
      },
      readMs: record.readMs,
      denied: record.denied,
    };
  }

  /** Called for very many records one after the other, so it makes no row. */
  isHeldBy({ followed }: LockRecord, text: string): boolean {
    for (let at = 0; at < followed.length && at < holdersInRow; at++) {
      const { field } = followed[at] as Followed;
      // Owner and session are parts of the field.
      if (field.includes(text)) return true;
      // The field of an owner with a known identity begins with its UUID.
      const identity = this.#identityOf(field.slice(0, uuidLength));
      if (identity?.label?.includes(text) === true || identity?.host?.includes(text) === true) return true;
    }
    return false;
  }

  holder(record: LockRecord, field: string, { count, leftMs, mode }: HoldFigures): ObservedParticipant {
    const person = this.person(ownerIn(field));
    const followed = record.followed.find((each) => each.field === field);
    const exclusive = mode === "exclusive";
    const marked = exclusive && parseOwner(ownerIn(field))?.mayKeep === true;
    return {
      ...person,
      entry: field,
      // No client keeps a leadership.
      mayBeKept: marked && !record.key.startsWith("holdfast_"),
      mode,
      since: followed?.since ?? unknownMoment,
      holdCount: count,
      remainingMs: leftMs !== null && leftMs >= 0 ? leftMs : null,
      lease: leftMs === -1 ? "never-expires" : (followed?.lease.state ?? "unknown"),
      // For a client that keeps locks, the token's key shows what the client has reserved, not the token of its hold.
      token: person.library === "holdfast" && exclusive && !marked ? record.token : null,
    };
  }

  /** A participant, as far as its owner on the wire shows who it is. */
  person(owner: string): ObservedParticipant {
    const parsed = parseOwner(owner);
    return participant({
      entry: owner,
      actor: parsed === null ? null : owner,
      session: parsed?.uuid ?? null,
      identity: parsed === null ? null : this.#identityOf(parsed.uuid),
      library: parsed === null ? "unknown" : parsed.ours ? "holdfast" : "redisson",
    });
  }
}

function librariesOf(
  { key, shape, token, queue, queued, waiterCount, followed }: LockRecord,
  holders: readonly ObservedParticipant[],
): ObservedLibrary[] {
  const libraries = new Set<ObservedLibrary>(holders.map(({ library }) => library));
  for (const { field } of followed.slice(holders.length)) libraries.add(libraryOf(ownerIn(field)));
  if (queue.ours > 0 || key.startsWith("holdfast_")) libraries.add("holdfast");
  if (queue.first !== null) libraries.add(libraryOf(queue.first.split(" ")[0] as string));
  if (waiterCount > queued && shape.is === "lock") libraries.add("redisson");
  if (libraries.size === 0)
    libraries.add(shape.is !== "permits" ? "unknown" : token !== null ? "holdfast" : "redisson");
  return [...libraries];
}
