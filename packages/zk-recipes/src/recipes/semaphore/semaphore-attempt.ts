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
import {
  type NodePart,
  type NodesListener,
  type NodesPlan,
  ProtectedNodes,
} from "../create/protected-nodes.js";
import { type OwnNode, OwnNodeWatch } from "../grant/own-node-watch.js";
import { ZooKeeperGrant } from "../grant/zookeeper-grant.js";
import { type PlaceListener, QueuePlace } from "../queue/queue-place.js";
import { isFinal, requestFailure } from "../session/failures.js";
import { deleteNode, type LockSpec, SessionAttempt } from "../session-attempt.js";
import type { SessionContext } from "../session-context.js";
import type { PermitCount } from "./permit-count.js";
import { PermitGate, type PermitGateListener } from "./permit-gate.js";

export interface SemaphoreSpec extends LockSpec {
  readonly permits: number;
  readonly limit: PermitCount;
}

/**
 * The two children of a semaphore's path (Curator's `InterProcessSemaphoreV2`): the mutex that is its queue, and the
 * parent of the permits.
 */
function semaphorePaths(path: string): { readonly queue: string; readonly leases: string } {
  return { queue: joinPath(path, "locks"), leases: joinPath(path, "leases") };
}

/**
 * Permits of a semaphore on the nodes of Curator's `InterProcessSemaphoreV2`, on one session.
 *
 * Only the head of the queue under `locks` may put leases under `leases`. It waits at the head until there is room, and
 * then takes all its permits in one transaction. Curator's waiting head already holds a lease; ours has none before there
 * is room.
 *
 * Behind the leases, in the same write, the head lists all leases: that shows whether the sum is within the limit. It is
 * Curator's own check. It keeps the limit also when an operator has deleted the head's queue node and a second head is at
 * work.
 */
export class SemaphoreAttempt
  extends SessionAttempt
  implements NodesListener, PlaceListener, PermitGateListener
{
  readonly #spec: SemaphoreSpec;
  readonly #queue: string;
  readonly #leases: string;
  readonly #gate: PermitGate;
  readonly #entry: ProtectedNodes;
  #node: OwnNode | null = null;
  #place: QueuePlace | null = null;
  #ownWatch: OwnNodeWatch | null = null;
  #waited = false;
  /** The leases were read in the same write as the queue, and that reading still counts. */
  #leasesRead = true;
  #create: ProtectedNodes | null = null;
  /** Leases that were made and are not granted yet. */
  #taken: readonly OwnNode[] = [];
  /** Leases that were made in vain and are not deleted yet. */
  readonly #returning = new Set<string>();
  /** Round trips for leases that were made in vain, and for listings behind leases. */
  #earlierTrips = 0;

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
    this.#leases = leases;
    this.#gate = new PermitGate(context, { lockName, leases, permits, limit }, this);
    const plan: NodesPlan = {
      parts: [{ lockName, parent: queue, rule: mutexRule, data }],
      siblings: [leases],
      readAlong: () => this.#gate.readAlong(),
    };
    this.#entry = new ProtectedNodes(context, settings, plan, this);
  }

  override get roundTrips(): number {
    const place = this.#place?.roundTrips ?? 0;
    const taking = this.#earlierTrips + (this.#create?.roundTrips ?? 0);
    return this.#entry.roundTrips + place + this.#gate.roundTrips + taking;
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
  }

  protected override takeBack(): Promise<void>[] {
    const made = [...this.#taken.map(({ path }) => path), ...this.#returning];
    if (this.#node !== null) made.push(this.#node.path);
    const deleted = made.map((path) => deleteNode(this.context, this.#spec.lockName, path));
    return [this.#entry.abandon(), ...(this.#create === null ? [] : [this.#create.abandon()]), ...deleted];
  }

  // ---- the queue

  created([node]: OwnNodes, [listing]: readonly Children[]): void {
    if (this.over) return;
    const { lockName, mayWait } = this.#spec;
    this.#node = node;
    if (!this.checkNumber(lockName, this.#queue, node, mutexRule)) return;
    const spec = { lockName, parent: this.#queue, rule: mutexRule, mayWait };
    this.#place = new QueuePlace(this.context, spec, node, this);
    this.#place.listed(listing as Children);
    this.#leasesRead = false;
  }

  /** The queue node is at the head of the queue. */
  granted({ ownWatch }: QueuePlace): void {
    if (this.over) return;
    // If the head's node is deleted, another client is the head, and this one may not take permits any more.
    const node = this.#node as OwnNode;
    const listener = { gone: () => this.evicted(this.#spec.lockName, node.path) };
    this.#ownWatch = ownWatch ?? new OwnNodeWatch(this.context, node, listener);
    this.#ownWatch.listener = listener;
    if (!this.#leasesRead) {
      this.#waited = true;
      this.#gate.forget();
    }
    this.#gate.ask();
  }

  // ---- at the head: takes the permits if there is room

  full(): void {
    if (this.over) return;
    if (!this.#spec.mayWait) return this.unavailable();
    this.#waited = true;
    this.listener.waiting();
    this.#ownWatch?.arm();
    this.#gate.watch();
  }

  /** Makes all leases in one transaction, in the same write as the listing that judges them. */
  open(): void {
    if (this.over) return;
    const { lockName, data, permits } = this.#spec;
    this.#gate.close();
    this.#earlierTrips += this.#create?.roundTrips ?? 0;
    const rule = { base: leaseBase, bases: [leaseBase] };
    const part: NodePart = { lockName, parent: this.#leases, rule, data };
    const parts = Array.from({ length: permits }, () => part) as [NodePart, ...NodePart[]];
    const plan = { parts, transaction: true };
    this.#create = new ProtectedNodes(this.context, this.settings, plan, {
      created: (nodes, [listing]) => {
        this.#taken = nodes;
        for (const node of nodes) if (!this.checkNumber(lockName, this.#leases, node, rule)) return;
        this.#judge(listing as Children);
      },
      failed: (error) => this.failed(error),
    });
    this.#create.start();
  }

  /** Takes a listing from behind the creates, which shows whether the leases that we made are within the limit. */
  #judge(listing: Children): void {
    if (this.over) return;
    const { lockName } = this.#spec;
    if (!listing.ok) {
      const { error } = listing;
      if (!isFinal(error)) return this.context.again(error, () => this.#listAgain());
      return this.failed(requestFailure(`listing ${this.#leases}`, error, this.context.session, lockName));
    }
    const { children } = listing.value;
    this.context.grants.reconcile(this.#leases, listing.value);
    // A listener of a loss that the listing has shown may have withdrawn this attempt.
    if (this.over) return;
    const listed = new Set(children);
    const missing = this.#taken.find(({ name }) => !listed.has(name));
    if (missing !== undefined) return this.evicted(lockName, missing.path);
    // If the count has changed meanwhile and is not read yet, it is not known whether there is room.
    if (children.length > (this.#gate.limit ?? 0)) return this.#giveBack();
    // On a session in doubt, the leases that were listed may be gone since.
    if (this.context.leaseAhead) this.#granted(this.#taken as OwnNodes);
    else this.context.whenLeased(() => this.#listAgain());
  }

  #listAgain(): void {
    if (this.over) return;
    this.#earlierTrips++;
    this.context.session.send("getChildren2", { path: this.#leases, watch: false }, (listing) =>
      this.#judge(listing),
    );
  }

  /** Another client has taken permits too, and the sum is over the limit. The deletes of ours leave in the same turn. */
  #giveBack(): void {
    const { deletions, session } = this.context;
    const taken = this.#taken;
    this.#taken = [];
    for (const { path } of taken) {
      this.#returning.add(path);
      deletions.delete(path, (_outcome, error) => {
        this.#returning.delete(path);
        if (error === null) return;
        this.failed(requestFailure(`deleting ${path}`, error, session, this.#spec.lockName));
      });
    }
    this.#gate.forget();
    this.full();
  }

  #granted(nodes: OwnNodes): void {
    const { lockName, data, revocable } = this.#spec;
    const { roundTrips } = this;
    const { path } = this.#node as OwnNode;
    this.stop();
    // The queue goes on without this node. The grant does not wait for the delete, which is repeated until it is answered.
    const left = deleteNode(this.context, lockName, path, `taking ${path} off the queue`);
    // If the server refuses the delete, the release rejects with that.
    left.catch(() => {});
    const grant = new ZooKeeperGrant(this.context, {
      lockName,
      data,
      nodes,
      // The czxid of the transaction, which all leases have.
      token: nodes[0].czxid,
      permitIds: nodes.map((node) => node.path),
      roundTrips,
      contended: this.#waited || (this.#place?.contended ?? false),
      revocable,
      besides: left,
    });
    this.grant([grant]);
  }
}

/** Throws for a batch that is too large: all its permits are made in one transaction, whose size the server limits. */
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
