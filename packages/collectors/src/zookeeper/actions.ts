import { errorCodes, type MultiOp, multiFailure, ZooKeeperError } from "@holdfast/zk-protocol";
import {
  readBase,
  revokeMessage,
  type TreeNode,
  type TreeParticipant,
  writeBase,
  type ZooKeeperSession,
} from "@holdfast/zk-recipes/internal";
import { whoIs } from "../judge/who-is.js";
import type { Act, Outcome } from "../kit/action.js";
import type { ActionRequest, ActionResult, LockAction } from "../observe/collector.js";
import type { ObservedLock } from "../observe/observed-lock.js";
import { detailOf, type FreshLock, type MostRead, readLock } from "./detail.js";
import {
  type Concerned,
  electionEffect,
  evictEffect,
  forceEffect,
  nextEffect,
  orphanEffects,
  revokeEffect,
} from "./effects.js";
import { isLockKind, type LockBook } from "./lock-book.js";
import { participantOf } from "./participants.js";
import { nodesOf } from "./rows.js";
import { isVague } from "./versions.js";

/** What is about to be done, decided from a reading of a moment ago. */
interface Plan {
  readonly steps: readonly MultiOp[];
  readonly effects: readonly string[];
  /** Whether one of the nodes was made by no known library, so that it may be any node with such a name. */
  readonly unknown: boolean;
  /** The names of the holders whose holds the plan ends. */
  readonly endedHolds?: readonly string[];
}

/** The action is refused, and nothing is done. */
type Refusal = Outcome & { readonly tried: false };

type Verdict = Plan | Refusal;

/**
 * An action may concern all holders of a lock. A transaction that deletes more nodes than these would exceed the server's
 * limit.
 */
const mostRead: MostRead = { maxWaiters: 1_000, maxHolders: 5_000 };

/** What the server answers when a node has changed since it was read. */
const changedSince: ReadonlySet<number> = new Set([
  errorCodes.NoNode,
  errorCodes.BadVersion,
  errorCodes.NotEmpty,
]);

const plans: Readonly<Record<LockAction, (request: ActionRequest, fresh: FreshLock) => Verdict>> = {
  "request-revoke": revoke,
  "evict-waiter": evict,
  "force-release": force,
  "clean-orphan": clean,
};

/**
 * Reads the lock anew, compares it with what the operator saw, and acts in one transaction on exactly the nodes that were
 * read. Each step carries the version of its node, so that any change in between turns the whole action into a conflict.
 */
export function actOn(
  session: ZooKeeperSession,
  book: LockBook,
  nowMs: () => number,
  key: string,
  most: MostRead = mostRead,
): Act<FreshLock> {
  return {
    gone: ["There is no such lock (any more)."],
    read: () => readLock(session, book, key, most),
    rowOf: (fresh) => {
      const { waiters: _waiters, raw: _raw, explain: _explain, ...row } = detailOf(fresh, book, 0, nowMs());
      return row;
    },
    attempt: async (request, fresh, before) => {
      const verdict = compared(request, before) ?? plans[request.action](request, fresh);
      if ("outcome" in verdict) return verdict;
      const { effects, steps, unknown, ...ending } = verdict;
      if (request.dryRun) return { outcome: "would-do", effects, unknownLibrary: unknown, tried: false };
      if (unknown && request.unknownLibrary !== true)
        return refused(
          "denied",
          "No known library has made it, so it may be no lock: to act all the same takes the word unknown (library).",
        );
      const failure = multiFailure(await session.request("multi", { ops: steps }));
      if (failure === undefined) return { outcome: "done", effects, tried: true, ...ending };
      // A transaction is done as a whole or not at all.
      if (changedSince.has(failure.code)) {
        const why = "It changed in the moment of the act: nothing was done.";
        return { outcome: "conflict", effects: [why], tried: true };
      }
      const step = steps[failure.index];
      const context = step === undefined ? {} : { op: step.op, path: step.request.path };
      const { message } = new ZooKeeperError(failure.code, context);
      return refused("denied", `The server refused it, so nothing was done: ${message}`);
    },
  };
}

function refused(outcome: ActionResult["outcome"], why: string): Refusal {
  return { outcome, effects: [why], tried: false };
}

function compared({ expectedVersion }: ActionRequest, before: ObservedLock): Verdict | null {
  if (isVague(expectedVersion)) {
    return refused(
      "conflict",
      "What it was decided on does not tell one holder from the next of the same name: open the lock and look again.",
    );
  }
  if (before.version === expectedVersion) return null;
  return refused("conflict", "Who holds it has changed since: nothing was done.");
}

function revoke({ entry }: ActionRequest, { tree, found }: FreshLock): Verdict {
  const holders = found.holders.filter(({ name }) => entry === null || name === entry);
  if (holders.length === 0) return noHolder(entry);
  const nodes = nodesOf(tree);
  const heard = holders.flatMap((holder) => {
    const effect = revokeEffect(concerned(holder, nodes));
    return effect === null ? [] : [{ holder, effect }];
  });
  if (heard.length === 0) {
    return refused("unsupported", "Holders of this library cannot be asked: it has no such request.");
  }
  return {
    steps: heard.map(({ holder }) => ({
      op: "setData",
      request: { path: holder.path, data: revokeMessage, version: versionOf(nodes, holder) },
    })),
    effects: [
      ...heard.map(({ effect }) => effect),
      ...(found.kind === "leader-election" ? [electionEffect()] : []),
    ],
    unknown: heard.some(({ holder }) => isUnknown(holder)),
  };
}

function evict({ entry }: ActionRequest, { tree, found }: FreshLock): Verdict {
  const waiter = found.waiters.find(({ name }) => name === entry);
  if (waiter === undefined) {
    const holds = found.holders.some(({ name }) => name === entry);
    if (holds) return refused("conflict", "It holds by now, and does not wait any more.");
    return refused("nothing-there", "There is no such waiter.");
  }
  const blocker = blockerOf(found, waiter);
  const nodes = nodesOf(tree);
  const check: MultiOp[] =
    blocker === undefined ? [] : [{ op: "check", request: { path: blocker.path, version: -1 } }];
  return {
    // The waiter has not been granted the lock for as long as the contender that it waits for is there.
    steps: [...check, deletion(nodes, waiter)],
    effects: [evictEffect(concerned(waiter, nodes))],
    unknown: isUnknown(waiter),
  };
}

function force({ entry }: ActionRequest, { tree, found }: FreshLock): Verdict {
  const holders = found.holders.filter(({ name }) => entry === null || name === entry);
  if (holders.length === 0) return noHolder(entry);
  const nodes = nodesOf(tree);
  if (holders.some(({ name }) => nodes.get(name)?.stat == null)) {
    return refused("conflict", "A holder went while it was read: look again.");
  }
  const left = found.holders.length - holders.length;
  const next = found.waiters[0];
  const rest =
    left > 0
      ? `${left} ${left === 1 ? "other goes" : "others go"} on holding.`
      : nextEffect(next === undefined ? undefined : concerned(next, nodes));
  return {
    steps: holders.map((holder) => deletion(nodes, holder)),
    effects: [...holders.map((holder) => forceEffect(concerned(holder, nodes))), rest],
    unknown: holders.some(isUnknown),
    endedHolds: holders.map(({ name }) => name),
  };
}

function clean(_request: ActionRequest, { tree, found }: FreshLock): Verdict {
  const { stat, path } = tree;
  if (isLockKind(found) || stat === null || stat.numChildren > 0 || stat.ephemeralOwner !== 0n) {
    return refused("conflict", "It is not an empty parent (any more).");
  }
  if (stat.cversion === 0) {
    return refused("unsupported", "It never had a child: it may be something else than a lock.");
  }
  if (stat.dataLength > 0) {
    return refused("unsupported", "It has data of its own: it may be something else than a lock.");
  }
  const steps: MultiOp[] = [{ op: "delete", request: { path, version: stat.version } }];
  // Nothing in an empty node shows which library made it.
  return { steps, effects: orphanEffects, unknown: true };
}

/** The contender that must go before this one can be granted; `undefined` for the head of a semaphore's queue, which waits for permits. */
function blockerOf(
  { family, holders, waiters }: FreshLock["found"],
  waiter: TreeParticipant,
): TreeParticipant | undefined {
  const ahead = waiters.slice(0, waiters.indexOf(waiter));
  if (family === "semaphore") return ahead[0];
  if (family === "read-write-lock" && waiter.name.includes(readBase)) {
    return [...holders, ...ahead].findLast(({ name }) => name.includes(writeBase));
  }
  if (family === "kazoo" && waiter.mode === "shared") {
    return [...holders, ...ahead].findLast(({ mode }) => mode === "exclusive");
  }
  return holders[0] ?? ahead[0];
}

function concerned(person: TreeParticipant, nodes: ReadonlyMap<string, TreeNode>): Concerned {
  const who = whoIs(participantOf(person, nodes.get(person.name), null, null));
  return { who, recognisedAs: person.recognisedAs };
}

function isUnknown({ recognisedAs }: TreeParticipant): boolean {
  return recognisedAs === "unknown";
}

function noHolder(entry: string | null): Verdict {
  return entry === null
    ? refused("nothing-there", "It is not held.")
    : refused("conflict", "That one does not hold (any more): nothing was done.");
}

function deletion(nodes: ReadonlyMap<string, TreeNode>, person: TreeParticipant): MultiOp {
  return { op: "delete", request: { path: person.path, version: versionOf(nodes, person) } };
}

function versionOf(nodes: ReadonlyMap<string, TreeNode>, { name }: TreeParticipant): number {
  return nodes.get(name)?.stat?.version ?? -1;
}
