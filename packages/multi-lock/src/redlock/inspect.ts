import type { InspectOptions, LockSnapshot, PrimitiveKind } from "@holdfast/core";
import { mutexAsk, mutexInspect, mutexKeys, parseOwner } from "@holdfast/redis-recipes/internal";
import { holdRound, quorumError, repliesOf, votesOf } from "./ballot.js";
import type { RedLockDesk } from "./desk.js";

/** Whoever a majority of the nodes names. Waiters leave no trace on them. */
export async function inspectRedLock(
  desk: RedLockDesk,
  kind: PrimitiveKind,
  name: string,
  options: InspectOptions,
): Promise<LockSnapshot> {
  options.signal?.throwIfAborted();
  const { runtime, majority, settings } = desk;
  const keys = mutexKeys(settings.keyPrefix + name);
  const round = await holdRound(runtime, {
    nodes: desk.nodes,
    ask: async ({ line }) => {
      const given = [keys.lock, keys.token, keys.waiters, keys.alive, `${keys.run}:none`];
      return (await line.run(mutexInspect, given, mutexInspect.args({ maxPending: 0 }))).reply;
    },
    decided: () => false,
    timeoutMs: settings.nodeTimeoutMs,
    late: () => {},
  });
  const pictures = repliesOf(round).map(([, picture]) => picture);
  if (pictures.length < majority) {
    const votes = votesOf(round, () => ({ vote: "for" }));
    throw quorumError("too few nodes told of", name, majority, votes);
  }
  const owners = new Map<string, number[]>();
  for (const { owner, pttlMs } of pictures.flatMap(({ holders }) => holders)) {
    owners.set(owner, [...(owners.get(owner) ?? []), pttlMs]);
  }
  const [holder] = [...owners].filter(([, left]) => left.length >= majority);
  return {
    name,
    takenAt: new Date(runtime.wallMs()),
    kind: holder === undefined ? null : kind,
    held: holder === undefined ? [] : [holdInfo(desk, ...holder)],
    pending: [],
    pendingTotal: null,
  };
}

/** `false` when no majority named a holder of ours. */
export async function askToLetGo(desk: RedLockDesk, name: string): Promise<boolean> {
  const { runtime, majority, settings } = desk;
  const round = await holdRound(runtime, {
    nodes: desk.nodes,
    ask: async ({ line }) =>
      (await line.run(mutexAsk, [settings.keyPrefix + name], mutexAsk.args(null))).reply,
    decided: () => false,
    timeoutMs: settings.nodeTimeoutMs,
    late: () => {},
  });
  const replies = repliesOf(round);
  if (replies.length < majority) {
    const votes = votesOf(round, () => ({ vote: "for" }));
    throw quorumError("too few nodes could be told of", name, majority, votes);
  }
  return replies.filter(([, { status }]) => status === "asked").length >= majority;
}

function holdInfo(desk: RedLockDesk, owner: string, left: readonly number[]): LockSnapshot["held"][number] {
  const parsed = parseOwner(owner);
  // The majority ends with the first of its votes that is one too few.
  const longestFirst = left.toSorted((one, other) => other - one);
  return {
    owner: null,
    label: null,
    mode: "exclusive",
    backendId: owner,
    session: parsed?.uuid ?? null,
    address: null,
    recognisedAs: parsed === null ? "unknown" : parsed.ours ? "holdfast" : "redisson",
    sinceMs: { value: null, provenance: "unknown" },
    token: null,
    holdCount: 1,
    heldByThisProvider: parsed?.uuid === desk.uuid,
    remainingMs: longestFirst[desk.majority - 1] ?? null,
  };
}
