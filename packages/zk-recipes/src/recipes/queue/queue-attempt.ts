import { InvalidArgumentError } from "@holdfast/core";
import type { AttemptListener } from "@holdfast/core/driver";
import type { QueueRule } from "../../layout/queue-rules.js";
import type { CreateSettings } from "../create/create-settings.js";
import type { Children, Listings, OwnNodes } from "../create/node-creates.js";
import { type NodePart, ProtectedNodes } from "../create/protected-nodes.js";
import { type OwnNode, OwnNodeWatch } from "../grant/own-node-watch.js";
import { ZooKeeperGrant } from "../grant/zookeeper-grant.js";
import type { SessionContext } from "../session/session-context.js";
import { deleteNode, type Grants, SessionAttempt } from "../session-attempt.js";
import { QueuePlace } from "./queue-place.js";

/** One queue to stand in. */
export interface QueueSpec {
  readonly lockName: string;
  /** The lock's path, parent of the node. */
  readonly parent: string;
  readonly rule: QueueRule;
  readonly data: Uint8Array;
  readonly mayWait: boolean;
  readonly revocable: boolean;
  /** As in `GrantParts`. */
  readonly endsWhenSuspended?: boolean;
}

export type QueueSpecs = readonly [QueueSpec, ...QueueSpec[]];

/** One of the queues, once our node is in it. */
interface Entry {
  readonly spec: QueueSpec;
  readonly node: OwnNode;
  readonly place: QueuePlace;
  /** Set when our turn has come: the connection over which that was seen, and the watch on our node since. */
  turn: { readonly connection: number; readonly watch: OwnNodeWatch | null } | null;
}

/**
 * A node in one queue, whose head holds: mutex, read and write lock, leadership. Or a node in each of several queues, made in
 * one transaction, and a grant when the last turn has come. Were the nodes made one by one, two clients could each come first
 * on one path and wait for the other for ever; transactions are in the same order on all paths.
 */
export class QueueAttempt extends SessionAttempt {
  readonly #specs: QueueSpecs;
  readonly #nodes: ProtectedNodes;
  #entries: readonly Entry[] = [];
  /** Each place has seen the listing that was read behind the creates. */
  #started = false;

  constructor(
    context: SessionContext,
    settings: CreateSettings,
    specs: QueueSpecs,
    listener: AttemptListener,
  ) {
    super(context, settings, listener);
    this.#specs = specs;
    const parts = specs.map(({ rule, ...spec }): NodePart => ({ ...spec, base: rule.base }));
    this.#nodes = new ProtectedNodes(
      context,
      settings,
      { parts: parts as [NodePart, ...NodePart[]], transaction: specs.length > 1 },
      {
        created: (nodes, listings) => this.#created(nodes, listings),
        failed: (error) => this.fail(error),
      },
    );
  }

  /** With several queues the longest wait counts: they wait beside each other. */
  override get roundTrips(): number {
    const waits = this.#entries.map(({ place }) => place.roundTrips);
    return this.#nodes.roundTrips + Math.max(0, ...waits);
  }

  override get queued(): boolean {
    return this.#entries.length > 0;
  }

  override start(): void {
    this.#nodes.start();
  }

  protected override stop(): void {
    for (const { place, turn } of this.#entries) {
      place.leave();
      turn?.watch?.stop();
    }
  }

  protected override takeBack(): Promise<void>[] {
    const nodes = this.#entries.map(({ spec, node }) => deleteNode(this.context, spec.lockName, node.path));
    return [this.#nodes.abandon(), ...nodes];
  }

  #created(nodes: OwnNodes, listings: Listings): void {
    if (this.over) return;
    this.#entries = nodes.map((node, index) => this.#entry(this.#specs[index] as QueueSpec, node));
    for (const { spec, node } of this.#entries) {
      if (!this.checkNumber(spec.lockName, spec.parent, node, spec.rule)) return;
    }
    this.context.session.batch(() => {
      for (const { spec, place } of this.#entries) {
        if (!this.over) place.start(listings.get(spec.parent) as Children);
      }
      this.#started = true;
      this.#progressed(null);
    });
  }

  #entry(spec: QueueSpec, node: OwnNode): Entry {
    const place = new QueuePlace(this.context, spec, node, {
      granted: (watch) => this.#turnCame(entry, watch),
      unavailable: () => this.unavailable(),
      failed: (error) => this.fail(error),
      waiting: () => this.listener.waiting(),
      notified: () => this.listener.notified(),
    });
    const entry: Entry = { spec, node, place, turn: null };
    return entry;
  }

  #turnCame(entry: Entry, watch: OwnNodeWatch | null): void {
    if (this.over) return;
    entry.turn = { connection: this.context.session.connection, watch };
    if (watch !== null) watch.listener = this.#whileOthersWait(entry);
    this.#progressed(entry);
  }

  /** Grants when all turns have come; until then, the nodes whose turn has come are watched for their end. */
  #progressed(latest: Entry | null): void {
    if (this.over || !this.#started) return;
    if (this.#entries.every(({ turn }) => turn !== null)) return this.#allCame(latest);
    for (const entry of this.#entries) {
      if (entry.turn === null || entry.turn.watch !== null) continue;
      const watch = new OwnNodeWatch(this.context, entry.node, this.#whileOthersWait(entry));
      entry.turn = { ...entry.turn, watch };
      watch.arm();
    }
  }

  #whileOthersWait({ spec, node }: Entry): OwnNodeWatch["listener"] {
    return { gone: () => this.evicted(spec.lockName, node.path), revokeAsked: () => {} };
  }

  /**
   * The last turn has come, on a session whose lease is ahead, or its place would not have reported it. What was seen of the
   * other queues counts if it was seen over this connection and our nodes there were watched since. Otherwise core proves the
   * grants before the caller gets any.
   */
  #allCame(latest: Entry | null): void {
    const { connection } = this.context.session;
    const sure = this.#entries.every((entry) => {
      const { turn } = entry;
      if (entry === latest) return true;
      return turn?.connection === connection && (turn.watch === null || turn.watch.trusted);
    });
    const { roundTrips } = this;
    const grants = this.#entries.map((entry) => this.#grantOf(entry, roundTrips));
    this.grant(grants as unknown as Grants);
    if (!sure) for (const grant of grants) grant.doubt();
  }

  #grantOf({ spec, node, place: { contended }, turn }: Entry, roundTrips: number): ZooKeeperGrant {
    const { lockName, data, revocable, endsWhenSuspended } = spec;
    return new ZooKeeperGrant(this.context, {
      lockName,
      data,
      nodes: [node],
      watches: turn?.watch == null ? [] : [turn.watch],
      token: node.czxid,
      permitIds: [],
      roundTrips,
      contended,
      revocable,
      endsWhenSuspended,
    });
  }
}

/** The second node on the same path would wait for the first for ever. */
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
