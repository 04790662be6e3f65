import type {
  Age,
  HoldInfo,
  InspectOptions,
  LockSnapshot,
  ParticipantInfo,
  Recognised,
  Runtime,
} from "@holdfast/core";
import {
  errorCodes,
  formatSessionId,
  joinPath,
  type ResponseOf,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import { readNodeData } from "../layout/node-data.js";
import { parseProtectedName } from "../layout/protected-name.js";
import { inQueueOrder, isContender, mutexBase } from "../layout/queue-order.js";
import { familyOf, recogniseKind } from "../layout/recognise.js";
import type { Outcome, ZooKeeperSession } from "../session/types.js";
import { requestFailure } from "./failures.js";
import type { SessionDesk } from "./session-desk.js";

/** Data and stat of this many nodes are asked for at once. */
const readsAtOnce = 500;
const defaultMaxPending = 1_000;

type NodeRead = ResponseOf<"getData"> & { readonly name: string };

/**
 * Holder and queue of a mutex path, whoever made the nodes. The pictures of two nodes may be from different moments: a
 * node that went between the listing and its read is left out.
 */
export async function inspectQueue(
  desk: SessionDesk,
  runtime: Runtime,
  lockName: string,
  path: string,
  options: InspectOptions,
): Promise<LockSnapshot> {
  const { session } = desk;
  let children: readonly string[];
  try {
    children = (await session.request("getChildren2", { path, watch: false })).children;
  } catch (error) {
    if (!(error instanceof ZooKeeperError && error.code === errorCodes.NoNode)) {
      throw requestFailure(`inspecting ${path}`, error as Error, session, lockName);
    }
    children = [];
  }
  const order = inQueueOrder(children, mutexBase).filter((name) => isContender(name, mutexBase));
  const shown = order.slice(0, 1 + (options.maxPending ?? defaultMaxPending));
  const reads = await readNodes(session, path, shown, options.signal);
  const takenAt = new Date(runtime.wallMs());
  const people = reads.map((read) => describe(desk, path, read, takenAt));
  const first = reads[0];
  const holds = first !== undefined && first.name === order[0];
  return {
    name: lockName,
    takenAt,
    kind: recogniseKind(children),
    held: holds ? [asHold(desk, runtime, people[0] as ParticipantInfo, first)] : [],
    pending: people.slice(holds ? 1 : 0).map((person, position) => ({ ...person, position })),
    pendingTotal: Math.max(0, order.length - 1),
  };
}

async function readNodes(
  session: ZooKeeperSession,
  path: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<NodeRead[]> {
  const reads: NodeRead[] = [];
  for (let from = 0; from < names.length; from += readsAtOnce) {
    signal?.throwIfAborted();
    const outcomes = await readBatch(session, path, names.slice(from, from + readsAtOnce));
    for (const { name, outcome } of outcomes) {
      if (outcome.ok) reads.push({ ...outcome.value, name });
      else if (!(outcome.error instanceof ZooKeeperError && outcome.error.code === errorCodes.NoNode)) {
        throw requestFailure(`inspecting ${joinPath(path, name)}`, outcome.error, session);
      }
    }
  }
  return reads;
}

function readBatch(
  session: ZooKeeperSession,
  path: string,
  names: readonly string[],
): Promise<{ name: string; outcome: Outcome<ResponseOf<"getData">> }[]> {
  return new Promise((resolve) => {
    const outcomes: { name: string; outcome: Outcome<ResponseOf<"getData">> }[] = [];
    session.batch(() => {
      for (const name of names) {
        session.send("getData", { path: joinPath(path, name), watch: false }, (outcome) => {
          outcomes.push({ name, outcome });
          if (outcomes.length === names.length) resolve(outcomes);
        });
      }
    });
  });
}

function describe(desk: SessionDesk, path: string, read: NodeRead, takenAt: Date): ParticipantInfo {
  const { address, label, identified } = readNodeData(read.data);
  const backendId = joinPath(path, read.name);
  // By the server's clock at creation and ours now: never negative, and exact as far as the two agree.
  const sinceMs: Age = {
    value: Math.max(0, takenAt.getTime() - Number(read.stat.ctime)),
    provenance: "exact",
  };
  return {
    owner: null,
    label,
    mode: "exclusive",
    backendId,
    session: formatSessionId(read.stat.ephemeralOwner),
    address,
    recognisedAs: recognise(desk.nodes.has(backendId) || identified, read.name),
    sinceMs,
  };
}

/** A holder's node tells since when it queued, not since when it holds: only our own holds know that. */
function asHold(desk: SessionDesk, runtime: Runtime, person: ParticipantInfo, read: NodeRead): HoldInfo {
  const own = desk.holds.get(person.backendId);
  return {
    ...person,
    sinceMs:
      own === undefined
        ? { value: null, provenance: "unknown" }
        : { value: runtime.nowMs() - own.grantedAtMs, provenance: "exact" },
    token: read.stat.czxid,
    holdCount: 1,
    heldByThisProvider: own !== undefined,
    remainingMs: null,
  };
}

function recognise(ours: boolean, name: string): Recognised {
  if (ours) return "holdfast";
  if (familyOf(name) === "kazoo") return "kazoo";
  return parseProtectedName(name) === null ? "unknown" : "curator";
}
