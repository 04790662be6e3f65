import { InvalidArgumentError } from "@holdfast/core";
import type { AttemptListener, GrantPlace } from "@holdfast/core/driver";
import type { Stat } from "@holdfast/zk-protocol";
import type { CreateSettings } from "../create/create-settings.js";
import type { Children, OwnNodes } from "../create/node-creates.js";
import { type NodePart, type NodesListener, ProtectedNodes } from "../create/protected-nodes.js";
import { type OwnNode, OwnNodeWatch } from "../grant/own-node-watch.js";
import { type GrantParts, ZooKeeperGrant } from "../grant/zookeeper-grant.js";
import { deleteNode, type Grants, SessionAttempt } from "../session-attempt.js";
import type { SessionContext } from "../session-context.js";
import { isFree, type PlaceListener, type PlaceSpec, QueuePlace } from "./queue-place.js";

/** One queue, and our node in it. */
export type QueueSpec = PlaceSpec & NodePart & Pick<GrantParts, "revocable" | "endsWhenSuspended">;

export type QueueSpecs = readonly [QueueSpec, ...QueueSpec[]];

/** A place in one of the queues whose turn has come. */
type Turn = Pick<QueuePlace<QueueSpec>, "spec" | "node" | "contended" | "grantingStat" | "ownWatch">;

/**
 * Makes a node in one queue whose head holds: mutex, read and write lock, leadership. Or makes a node in each of several
 * queues, in one transaction, and grants when our turn has come in all of them.
 *
 * If the nodes were made one by one, two clients could each be first on one path and wait for the other for ever.
 * Transactions have the same order on all paths.
 */
export class QueueAttempt extends SessionAttempt implements NodesListener, PlaceListener<QueueSpec> {
  readonly #specs: QueueSpecs;
  readonly #nodes: ProtectedNodes;
  /** In the order of the specs. */
  #made: readonly OwnNode[] = [];
  #places: readonly QueuePlace<QueueSpec>[] = [];
  /** Each place has taken the listing that was read behind the creates. */
  #started = false;

  constructor(
    context: SessionContext,
    settings: CreateSettings,
    specs: QueueSpecs,
    listener: AttemptListener,
  ) {
    super(context, settings, listener);
    this.#specs = specs;
    const plan = { parts: specs, transaction: specs.length > 1 };
    this.#nodes = new ProtectedNodes(context, settings, plan, this);
  }

  /** With several queues the longest wait counts, because they wait at the same time. */
  override get roundTrips(): number {
    let longest = 0;
    for (const { roundTrips } of this.#places) longest = Math.max(longest, roundTrips);
    return this.#nodes.roundTrips + longest;
  }

  override get queued(): boolean {
    return this.#made.length > 0;
  }

  override start(): void {
    this.#nodes.start();
  }

  protected override stop(): void {
    for (const place of this.#places) place.leave();
  }

  protected override takeBack(): Promise<void>[] {
    const nodes = this.#made.map((node, i) => {
      const { lockName } = this.#specs[i] as QueueSpec;
      return deleteNode(this.context, lockName, node.path);
    });
    return [this.#nodes.abandon(), ...nodes];
  }

  // -------- what the nodes and the places report; a failure or a refusal ends the attempt

  created(nodes: OwnNodes, listings: readonly Children[]): void {
    if (this.over) return;
    this.#made = nodes;
    for (const [i, node] of nodes.entries()) {
      const { lockName, parent, rule } = this.#specs[i] as QueueSpec;
      if (!this.checkNumber(lockName, parent, node, rule)) return;
    }
    if (nodes.length === 1 && this.#grantedAtOnce(nodes[0], listings[0] as Children)) return;
    this.#places = nodes.map((node, i) => {
      return new QueuePlace(this.context, this.#specs[i] as QueueSpec, node, this);
    });
    for (const [i, place] of this.#places.entries()) if (!this.over) place.listed(listings[i] as Children);
    this.#started = true;
    this.#progressed(null);
  }

  granted(place: QueuePlace<QueueSpec>): void {
    if (this.over) return;
    if (place.ownWatch !== null) place.ownWatch.listener = this.#whileOthersWait(place);
    this.#progressed(place);
  }

  /** Grants at once if the lock is free: it then needs no place in its queue. `true` also if the attempt has ended otherwise. */
  #grantedAtOnce(node: OwnNode, listing: Children): boolean {
    const [spec] = this.#specs;
    try {
      if (!isFree(this.context, spec, node, listing)) return this.over;
    } catch (conflict) {
      this.failed(conflict);
      return true;
    }
    // The listing may have shown that a hold of this session is lost, and that loss may have ended this attempt too.
    if (this.over) return true;
    const grantingStat = listing.ok ? listing.value.stat : null;
    const turn = { spec, node, contended: false, grantingStat, ownWatch: null };
    this.grant([this.#grantOf(turn)]);
    return true;
  }

  /**
   * Grants when our turn has come in all queues. Until then the nodes whose turn has come are watched, so that their
   * deletion is noticed.
   */
  #progressed(latest: QueuePlace<QueueSpec> | null): void {
    if (this.over || !this.#started) return;
    if (this.#places.every(({ grantedOn }) => grantedOn !== null)) return this.#allCame(latest);
    for (const place of this.#places) {
      if (place.grantedOn === null || place.ownWatch !== null) continue;
      place.ownWatch = new OwnNodeWatch(this.context, place.node, this.#whileOthersWait(place));
      place.ownWatch.arm();
    }
  }

  #whileOthersWait({ spec, node }: QueuePlace<QueueSpec>): OwnNodeWatch["listener"] {
    return { gone: () => this.evicted(spec.lockName, node.path) };
  }

  /**
   * The last turn has come, on a session whose lease is ahead: otherwise its place would not have reported it. What was
   * seen of the other queues counts if it was seen over this connection, and our nodes there were watched since then.
   * Otherwise core proves the grants before the caller gets any.
   */
  #allCame(latest: QueuePlace<QueueSpec> | null): void {
    const { connection } = this.context.session;
    const sure = this.#places.every((place) => {
      if (place === latest) return true;
      return place.grantedOn === connection && (place.ownWatch === null || place.ownWatch.trusted);
    });
    const grants = this.#places.map((place) => this.#grantOf(place));
    this.grant(grants as unknown as Grants);
    if (!sure) for (const grant of grants) grant.doubt();
  }

  #grantOf({ spec, node, contended, grantingStat, ownWatch }: Turn): ZooKeeperGrant {
    return new ZooKeeperGrant(this.context, {
      place: spec.keepable === true && grantingStat !== null ? placeOf(grantingStat) : undefined,
      lockName: spec.lockName,
      data: spec.data,
      nodes: [node],
      watches: ownWatch === null ? [] : [ownWatch],
      token: node.czxid,
      roundTrips: this.roundTrips,
      contended,
      revocable: spec.revocable,
      endsWhenSuspended: spec.endsWhenSuspended,
    });
  }
}

/**
 * The version of the children counts each creation and each deletion. A grant directly follows another if one delete and
 * one create have happened since. A parent that was made anew counts from the start, but has another czxid.
 */
function placeOf({ czxid, cversion }: Stat): GrantPlace {
  return { at: `${czxid}:${cversion}`, after: `${czxid}:${cversion - 2}` };
}

/** Throws for two locks on the same path: the second node would wait for the first for ever. */
export function checkDistinct(specs: QueueSpecs): void {
  const names = new Map<string, string>();
  for (const { lockName, parent } of specs) {
    const earlier = names.get(parent);
    if (earlier !== undefined) {
      const which =
        earlier === lockName
          ? `"${lockName}" is there twice`
          : `"${earlier}" and "${lockName}" are the same path`;
      throw new InvalidArgumentError(
        `several locks at once: ${which}, and the second would wait for the first for ever`,
        { lockName },
      );
    }
    names.set(parent, lockName);
  }
}
