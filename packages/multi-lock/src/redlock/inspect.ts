import type { InspectOptions, LockSnapshot, PrimitiveKind } from "@holdfast/core";
import { mutex, mutexAsk, mutexInspect, parseOwner, participant } from "@holdfast/redis-recipes/internal";
import { holdRound, repliesOf, tooFewError, votesOf } from "./ballot.js";
import type { Quorum } from "./quorum.js";
import { ownerOfMajority } from "./vote-count.js";
import type { VotingNode } from "./voting-node.js";

/** The holder is the owner that a majority of the nodes names. Waiters leave no trace on the nodes. */
export async function inspectRedLock(
  quorum: Quorum,
  kind: PrimitiveKind,
  name: string,
  options: InspectOptions,
): Promise<LockSnapshot> {
  options.signal?.throwIfAborted();
  const { runtime, majority, settings } = quorum;
  const { lookKeys } = mutex.keysOf(settings.keyPrefix + name);
  const pictures = await repliesOfMajority(quorum, "too few nodes answered about", name, async ({ line }) => {
    return (await line.run(mutexInspect, lookKeys, mutexInspect.args({ maxPending: 0 }))).reply;
  });
  const named = pictures.flatMap(({ holders }) => holders);
  const holder = ownerOfMajority(named, majority);
  return {
    name,
    takenAt: new Date(runtime.wallMs()),
    kind: holder === undefined ? null : kind,
    held: holder === undefined ? [] : [holdInfo(quorum, holder.owner, holder.leftMs)],
    pending: [],
    pendingTotal: null,
  };
}

/** `false` when no majority named a holder of ours. */
export async function askToLetGo(quorum: Quorum, name: string): Promise<boolean> {
  const keys = [quorum.settings.keyPrefix + name];
  const ask = async ({ line }: VotingNode) => (await line.run(mutexAsk, keys, mutexAsk.args(null))).reply;
  const failure = "the request to release reached too few nodes for";
  const replies = await repliesOfMajority(quorum, failure, name, ask);
  return replies.filter(({ status }) => status === "asked").length >= quorum.majority;
}

/** Rejects with `QuorumError` when fewer than a majority answer in time. */
async function repliesOfMajority<R>(
  quorum: Quorum,
  failure: string,
  name: string,
  ask: (node: VotingNode) => Promise<R>,
): Promise<readonly R[]> {
  const { nodes, majority } = quorum;
  const round = await holdRound(quorum, { nodes, ask });
  const replies = repliesOf(round.ballots);
  if (replies.length < majority) throw tooFewError(failure, name, majority, votesOf(round));
  return replies.map(([, reply]) => reply);
}

function holdInfo(quorum: Quorum, owner: string, left: readonly number[]): LockSnapshot["held"][number] {
  // The majority ends with the vote whose end leaves one vote too few.
  const longestFirst = left.toSorted((one, other) => other - one);
  return {
    ...participant(owner, "", "exclusive"),
    token: null,
    holdCount: 1,
    heldByThisProvider: parseOwner(owner)?.uuid === quorum.owners.uuid,
    remainingMs: longestFirst[quorum.majority - 1] ?? null,
    kept: false,
  };
}
