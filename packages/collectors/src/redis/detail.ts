import type { Millis, Runtime } from "@holdfast/core";
import {
  type Command,
  neverExpiresMs,
  parseOwner,
  prefixed,
  ReplyError,
  readHoldKey,
  suffixed,
} from "@holdfast/redis-recipes/internal";
import { unknownMoment } from "../kit/moment.js";
import type { LeaseState, ObservedLockDetail, ObservedParticipant } from "../observe/observed-lock.js";
import type { Book } from "./book.js";
import type { Channels } from "./channels.js";
import { doubleBarrierPrefix, plainName } from "./key-names.js";
import type { Link, Reply } from "./link.js";
import type { LockRecord } from "./lock-record.js";
import { ownerIn } from "./owner-words.js";
import { answeredAt, parseReading, readingCommands } from "./reading.js";
import type { Rows } from "./rows.js";

export interface DetailParts {
  readonly link: Link;
  readonly book: Book;
  readonly rows: Rows;
  readonly channels: Channels;
  readonly runtime: Runtime;
  readonly learn: (uuids: Iterable<string>) => Promise<unknown>;
}

/** The most holders that are shown, each with its own lease. */
const mostHolders = 200;
const longestValue = 256;

/**
 * Reads one lock with all holders and waiters, from its master in one moment. `null`: no such lock is there. Rejects where
 * it cannot be read.
 */
export async function readDetail(
  key: string,
  maxWaiters: number,
  parts: DetailParts,
): Promise<ObservedLockDetail | null> {
  const { link, book, rows, channels, runtime } = parts;
  const last = Math.max(0, maxWaiters - 1);
  const reading = readingCommands(key, "full");
  const waitersKey = prefixed("holdfast_waiters", key);
  const queueKey = prefixed("redisson_lock_queue", key);
  const deadlinesKey = prefixed("redisson_lock_timeout", key);
  const runKey = prefixed("holdfast_run", key);
  const more: Command[] = [
    ["time"],
    ["type", key],
    ["lrange", waitersKey, 0, last],
    ["lrange", queueKey, 0, last],
    ["zrange", deadlinesKey, 0, Math.max(last, 99), "withscores"],
    ["get", runKey],
  ];
  const sentMs = runtime.nowMs();
  const replies = await link.send([...reading, ...more], { atomic: true });
  const when = answeredAt(runtime, sentMs);
  const refused = replies.find((each) => each instanceof ReplyError && each.kind !== "other");
  if (refused !== undefined) throw refused;
  const picture = parseReading(key, "full", replies.slice(0, reading.length), when);
  const [time, type, waiters, queue, deadlines, run] = replies.slice(reading.length);
  const [seconds, micros] = time as [string, string];
  const serverMs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  /** Converts a time by the server's clock, or by the clock of the client that wrote an entry, to the time by our clock. */
  const here = (ms: Millis): Millis => Math.round(ms + (when.atMs - serverMs));
  const record = book.apply(picture);
  if (
    record === null ||
    (picture.shape.is === "nothing" && picture.beside?.queue === 0 && picture.beside.waiters === 0)
  )
    return null;

  const ours = texts(waiters).map((entry) => ({ owner: entry.split(" ")[0] as string, entry }));
  const java = texts(queue);
  const giveUp = scores(deadlines);
  const fields = picture.shape.is === "lock" ? picture.shape.fields.slice(0, mostHolders) : [];
  const shared = picture.shape.is === "lock" && picture.shape.mode !== null;
  const readers = shared ? fields.filter(({ field }) => !field.endsWith(":write")) : [];
  const grantsKey = suffixed(key, "timeout");
  const more2: Command[] = readers.map(({ field, count }) => [
    "pttl",
    readHoldKey(key, field, Math.max(1, count)),
  ]);
  const candidates = [...fields.map(({ field }) => field), ...ours.map(({ owner }) => owner)];
  const labels =
    record.kind === "leader-election" ? await labelsOf(link, key, candidates) : new Map<string, string>();
  const ends = more2.length === 0 ? [] : await link.send(more2);
  const permits = picture.shape.is === "permits" ? await permitsOf(link, grantsKey) : [];
  const members = key.startsWith(doubleBarrierPrefix) ? await membersOf(link, key) : [];
  await parts.learn(
    [...fields.map(({ field }) => ownerIn(field)), ...ours.map(({ owner }) => owner), ...java, ...members]
      .map((owner) => parseOwner(owner)?.uuid)
      .filter((uuid) => uuid !== undefined),
  );

  const leftOf = (field: string): Millis | null => {
    const index = readers.findIndex((each) => each.field === field);
    if (index === -1) return picture.leftMs;
    const left = ends[index];
    return typeof left === "number" && left >= -1 ? left : null;
  };
  const named = (person: ObservedParticipant, owner: string): ObservedParticipant => {
    const label = labels.get(owner);
    if (label === undefined) return person;
    // The label that a candidate gives itself says more than the label of its process.
    const data = label.slice(0, longestValue);
    return { ...person, data, identity: person.identity && { ...person.identity, label: data } };
  };
  const holders: ObservedParticipant[] = [
    ...fields.map(({ field, count }) =>
      named(
        rows.holder(record, field, {
          count,
          leftMs: leftOf(field),
          mode: shared && !field.endsWith(":write") ? "shared" : "exclusive",
        }),
        field,
      ),
    ),
    ...permits.map((each) => permitHolder(rows, each, serverMs, here)),
    ...members.map((owner) => ({ ...rows.person(owner), mode: "shared" as const })),
  ];
  const listeners = channels.of(key);
  const queued = [
    ...java.map((owner): ObservedParticipant => {
      const person = rows.person(owner);
      const deadline = giveUp.get(owner);
      // A waiter of ours raises its deadline for as long as it waits, so the deadline does not show when it gives up.
      const last = deadline === undefined || person.library === "holdfast" ? null : here(deadline);
      return { ...person, deadlineMs: last };
    }),
    ...ours.map(({ owner }) => rows.person(owner)),
  ]
    .slice(0, maxWaiters)
    .map((person, position) => ({
      ...named(person, person.entry),
      position,
      since: position === 0 ? record.queue.since : unknownMoment,
    }));
  return {
    ...rows.lock(record),
    holders,
    holderCount: Math.max(record.holderCount, members.length),
    waiters: queued,
    raw: rawOf(key, picture.leftMs, replies, reading.length, String(type), serverMs, String(run ?? "")),
    explain: explain(record, listeners !== undefined),
  };
}

function permitHolder(
  rows: Rows,
  permit: { readonly id: string; readonly endMs: Millis },
  serverMs: Millis,
  here: (ms: Millis) => Millis,
): ObservedParticipant {
  const never = permit.endMs >= neverExpiresMs;
  const lease: LeaseState = never ? "never-expires" : "unknown";
  return {
    ...rows.person(permit.id),
    mode: "shared",
    remainingMs: never ? null : Math.max(0, permit.endMs - serverMs),
    deadlineMs: never ? null : here(permit.endMs),
    lease,
    library: "unknown",
  };
}

async function permitsOf(link: Link, key: string): Promise<readonly { id: string; endMs: Millis }[]> {
  const [members] = await link.send([["zrange", key, 0, mostHolders - 1, "withscores"]], { binary: true });
  if (!Array.isArray(members)) return [];
  const found: { id: string; endMs: Millis }[] = [];
  for (let at = 0; at + 1 < members.length; at += 2) {
    const id = members[at] as Buffer;
    // Up to 3.16 Redisson wrote the id as its hex digits.
    const text = id.length === 32 ? id.toString("latin1") : id.toString("hex");
    found.push({ id: text, endMs: Number(String(members[at + 1])) });
  }
  return found;
}

async function labelsOf(
  link: Link,
  key: string,
  owners: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (owners.length === 0) return new Map();
  // Not HGETALL: its answer is an array or an object, depending on the client's version.
  const [labels] = await link.send([["hmget", prefixed("holdfast_labels", plainName(key)), ...owners]]);
  if (!Array.isArray(labels)) return new Map();
  return new Map(
    owners.flatMap((owner, at): [string, string][] =>
      typeof labels[at] === "string" ? [[owner, labels[at]]] : [],
    ),
  );
}

async function membersOf(link: Link, key: string): Promise<readonly string[]> {
  const members = prefixed("holdfast_double_barrier_members", plainName(key));
  const [owners] = await link.send([["zrange", members, 0, mostHolders - 1]]);
  return texts(owners);
}

function texts(reply: Reply): readonly string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}

function scores(reply: Reply): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const pairs = texts(reply);
  for (let at = 0; at + 1 < pairs.length; at += 2) found.set(pairs[at] as string, Number(pairs[at + 1]));
  return found;
}

function rawOf(
  key: string,
  leftMs: Millis,
  replies: readonly Reply[],
  own: number,
  type: string,
  serverMs: Millis,
  run: string,
): readonly { name: string; value: string }[] {
  const [scanned, , token, waiters, , queue, , value, grants] = own === 9 ? replies : [];
  const raw: { name: string; value: string }[] = [
    { name: "key", value: key },
    { name: "TYPE", value: type },
    { name: "PTTL", value: `${leftMs} ms` },
    { name: "TIME", value: new Date(serverMs).toISOString() },
  ];
  const tell = (name: string, reply: Reply): void => {
    if (reply === undefined || reply === null || reply instanceof ReplyError) return;
    raw.push({ name, value: String(reply).slice(0, longestValue) });
  };
  if (Array.isArray(scanned) && Array.isArray(scanned[1])) {
    const pairs = texts(scanned[1]);
    for (let at = 0; at + 1 < Math.min(pairs.length, 40); at += 2)
      tell(`field ${(pairs[at] as string).slice(0, 128)}`, pairs[at + 1]);
  }
  tell(prefixed("redisson_lock_token", key), token);
  if (typeof value === "string") tell("permits free", value);
  if (typeof grants === "number" && grants > 0) tell(suffixed(key, "timeout"), `${grants} members`);
  if (typeof waiters === "number" && waiters > 0)
    tell(prefixed("holdfast_waiters", key), `${waiters} entries`);
  if (typeof queue === "number" && queue > 0) tell(prefixed("redisson_lock_queue", key), `${queue} entries`);
  if (run !== "") tell(prefixed("holdfast_run", key), run);
  return raw;
}

function explain(record: LockRecord, listening: boolean): readonly string[] {
  const { kind, fair, oldestHold } = record;
  const told = ["holders, queues and the token were read from the master in one transaction"];
  if (kind === "read-write-lock")
    told.push("each reader's lease is the TTL of a key of its own, read right after");
  if (oldestHold.provenance === "exact")
    told.push("held since: from the fencing token, which is the server's clock at the grant");
  else if (record.holderCount > 0)
    told.push(
      "held since: when it was first seen; Redis keeps no time of the grant, and renewals rewrite the TTL",
    );
  if (fair) told.push("the queue is Redisson's list, in order; each has the time at which it gives up");
  else if (kind === "semaphore" || kind === "permit-semaphore")
    told.push("permits do not say whose they are; waiters are counted as connections that listen");
  else if (kind !== "leader-election")
    told.push(
      listening
        ? "Redisson's waiters are counted as connections that listen on the lock's channel: each has one waiter or more"
        : "Redisson's plain waiters leave no trace but a subscription, and there is none",
    );
  if (record.queued > 0) told.push("waiting since: when the first of the queue was first seen here");
  return told;
}
