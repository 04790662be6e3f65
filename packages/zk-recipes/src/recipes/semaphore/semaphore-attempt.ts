import { InvalidArgumentError } from "@holdfast/core";
import type { AttemptListener } from "@holdfast/core/driver";
import {
  CreateFlags,
  encodeRequest,
  joinPath,
  maxRequestBytes,
  requestHeaderBytes,
} from "@holdfast/zk-protocol";
import { leaseBase, protectionPrefix } from "../../layout/queue-order.js";
import { mutexRule } from "../../layout/queue-rules.js";
import type { CreateSettings } from "../create/create-settings.js";
import type { Children, OwnNodes } from "../create/node-creates.js";
import { type NodesListener, ProtectedNodes } from "../create/protected-nodes.js";
import { type OwnNode, OwnNodeWatch } from "../grant/own-node-watch.js";
import { ZooKeeperGrant } from "../grant/zookeeper-grant.js";
import { type PlaceListener, QueuePlace } from "../queue/queue-place.js";
import type { SessionContext } from "../session/session-context.js";
import { deleteNode, SessionAttempt } from "../session-attempt.js";
import type { PermitCount } from "./permit-count.js";
import { PermitGate } from "./permit-gate.js";
import { PermitTaking } from "./permit-taking.js";

export interface SemaphoreSpec {
  readonly lockName: string;
  readonly path: string;
  readonly data: Uint8Array;
  readonly permits: number;
  readonly limit: PermitCount;
  readonly mayWait: boolean;
  readonly revocable: boolean;
}

/** The children of a semaphore's path (Curator's `InterProcessSemaphoreV2`): a mutex, and the permits. */
function semaphorePaths(path: string): { readonly queue: string; readonly leases: string } {
  return { queue: joinPath(path, "locks"), leases: joinPath(path, "leases") };
}

/**
 * Permits of a semaphore on the nodes of Curator's `InterProcessSemaphoreV2`, on one session.
 *
 * Only the head of the queue under `locks` may put leases under `leases`. It waits there for room and then takes all its
 * permits in one transaction, to be checked once more behind it. Where Curator's waiting head holds a lease, ours has none
 * before there is room.
 */
export class SemaphoreAttempt extends SessionAttempt implements NodesListener, PlaceListener {
  readonly #spec: SemaphoreSpec;
  readonly #queue: string;
  readonly #gate: PermitGate;
  readonly #taking: PermitTaking;
  readonly #entry: ProtectedNodes;
  #node: OwnNode | null = null;
  #place: QueuePlace | null = null;
  #ownWatch: OwnNodeWatch | null = null;
  #waited = false;
  /** The leases were read in the same write as the queue. */
  #leasesRead = true;

  constructor(
    context: SessionContext,
    settings: CreateSettings,
    spec: SemaphoreSpec,
    listener: AttemptListener,
  ) {
    super(context, settings, listener);
    const { lockName, path, data, permits, limit } = spec;
    const { queue, leases } = semaphorePaths(path);
    this.#spec = spec;
    this.#queue = queue;
    const asked = { lockName, leases, data, permits, limit };
    this.#gate = new PermitGate(context, asked, {
      open: () => this.#take(),
      full: () => this.#wait(),
      changed: () => this.notified(),
      failed: (error) => this.failed(error),
    });
    this.#taking = new PermitTaking(context, settings, asked, {
      limit: () => this.#gate.limit,
      accepts: (node) => this.checkNumber(lockName, leases, node, { bases: [leaseBase] }),
      taken: (nodes) => this.#granted(nodes),
      full: () => {
        this.#gate.forget();
        this.#wait();
      },
      missing: (lease) => this.evicted(lockName, lease),
      failed: (error) => this.failed(error),
    });
    this.#entry = new ProtectedNodes(
      context,
      settings,
      {
        parts: [{ lockName, parent: queue, base: mutexRule.base, data }],
        transaction: false,
        siblings: [leases],
        readAlong: () => this.#gate.readAlong(),
      },
      this,
    );
  }

  override get roundTrips(): number {
    const place = this.#place?.roundTrips ?? 0;
    return this.#entry.roundTrips + place + this.#gate.roundTrips + this.#taking.roundTrips;
  }

  override get queued(): boolean {
    return this.#node !== null;
  }

  override start(): void {
    this.#entry.start();
  }

  protected override stop(): void {
    this.#place?.leave();
    this.#ownWatch?.stop();
    this.#gate.stop();
    this.#taking.stop();
  }

  protected override takeBack(): Promise<void>[] {
    const parts = [this.#entry.abandon(), ...this.#taking.takeBack()];
    if (this.#node !== null) parts.push(deleteNode(this.context, this.#spec.lockName, this.#node.path));
    return parts;
  }

  // ---- the queue

  created([node]: OwnNodes, [listing]: readonly Children[]): void {
    if (this.over) return;
    const { lockName, mayWait } = this.#spec;
    this.#node = node;
    if (!this.checkNumber(lockName, this.#queue, node, mutexRule)) return;
    const spec = { lockName, parent: this.#queue, rule: mutexRule, mayWait };
    this.#place = new QueuePlace(this.context, spec, node, this);
    this.#place.start(listing as Children);
    this.#leasesRead = false;
  }

  /** At the head of the queue. */
  granted({ ownWatch }: QueuePlace): void {
    if (this.over) return;
    this.#watchOwn(ownWatch ?? new OwnNodeWatch(this.context, this.#node as OwnNode, ignoreEvents));
    if (!this.#leasesRead) {
      this.#waited = true;
      this.#gate.forget();
    }
    this.#gate.ask();
  }

  /** When the head's node is deleted another client is the head, and nothing may be taken any more. */
  #watchOwn(watch: OwnNodeWatch): void {
    this.#ownWatch = watch;
    watch.listener = {
      ...ignoreEvents,
      gone: () => this.evicted(this.#spec.lockName, (this.#node as OwnNode).path),
    };
  }

  // ---- at the head

  #wait(): void {
    if (this.over) return;
    if (!this.#spec.mayWait) return this.unavailable();
    this.#waited = true;
    this.listener.waiting();
    this.#ownWatch?.arm();
    this.#gate.watch();
  }

  #take(): void {
    if (this.over) return;
    this.#gate.close();
    this.#taking.take();
  }

  #granted(nodes: readonly [OwnNode, ...OwnNode[]]): void {
    const { lockName, data, revocable } = this.#spec;
    const { roundTrips } = this;
    const { path } = this.#node as OwnNode;
    this.stop();
    // The queue goes on without us, and the grant does not wait for it: the delete is repeated until it is answered.
    const left = deleteNode(this.context, lockName, path, `taking ${path} off the queue`);
    // The release reports a refusal.
    left.catch(() => {});
    const grant = new ZooKeeperGrant(this.context, {
      lockName,
      data,
      nodes,
      token: highestCzxid(nodes),
      permitIds: nodes.map((node) => node.path),
      roundTrips,
      contended: this.#waited || (this.#place?.contended ?? false),
      revocable,
      besides: left,
    });
    this.grant([grant]);
  }
}

const ignoreEvents = { gone: () => {}, revokeAsked: () => {} };

function highestCzxid(nodes: readonly OwnNode[]): bigint {
  let highest = 0n;
  for (const { czxid } of nodes) if (czxid > highest) highest = czxid;
  return highest;
}

/** All permits of a batch are made in one transaction, which a server takes up to a size. */
export function checkBatch({ lockName, path, data, permits }: SemaphoreSpec, settings: CreateSettings): void {
  if (permits === 1) return;
  const lease = joinPath(
    semaphorePaths(path).leases,
    protectionPrefix(settings.runtime.randomId()) + leaseBase,
  );
  const request = { path: lease, data, acl: settings.aclOf(lease), flags: CreateFlags.ephemeralSequential };
  const empty = encodeRequest("multi", { ops: [] }).length;
  const each = encodeRequest("multi", { ops: [{ op: "create2", request }] }).length - empty;
  const most = Math.floor((maxRequestBytes - requestHeaderBytes - empty) / each);
  if (permits <= most) return;
  throw new InvalidArgumentError(
    `${lockName}: permits = ${permits} do not fit into one transaction of ZooKeeper, which takes ${maxRequestBytes} bytes: ask for ${most} at most`,
    { lockName, backend: "zookeeper" },
  );
}
