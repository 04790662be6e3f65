import type { HoldfastError } from "@holdfast/core";
import { leaseBase } from "../../layout/queue-order.js";
import type { CreateSettings } from "../create/create-settings.js";
import type { Children } from "../create/node-creates.js";
import { type NodePart, ProtectedNodes } from "../create/protected-nodes.js";
import type { OwnNode } from "../grant/own-node-watch.js";
import { isFinal, requestFailure } from "../session/failures.js";
import type { SessionContext } from "../session/session-context.js";
import { deleteNode } from "../session-attempt.js";
import type { LeasesSpec } from "./permit-count.js";

export interface TakingListener {
  /** How many permits there are, as known now; `null`: not known. */
  limit(): number | null;
  /** `false`: the number of this node must not be used, and the attempt has failed. */
  accepts(node: OwnNode): boolean;
  /** Ours, and within the limit, on a session whose lease is ahead. */
  taken(nodes: readonly [OwnNode, ...OwnNode[]]): void;
  /** Another client has taken permits too, so ours are deleted, in the write in which this is called. */
  full(): void;
  /** A node of ours is not there any more. */
  missing(path: string): void;
  failed(error: HoldfastError): void;
}

/**
 * Takes permits for the head of the queue: all lease nodes in one transaction, and behind it, in the same write, the listing
 * that shows whether the sum is within the limit. That is Curator's own check: it keeps the limit also when an operator has
 * deleted the queue node of the head, and a second head is at work.
 */
export class PermitTaking {
  readonly #context: SessionContext;
  readonly #settings: CreateSettings;
  readonly #spec: LeasesSpec;
  readonly #listener: TakingListener;
  #create: ProtectedNodes | null = null;
  /** Made and not granted. */
  #taken: readonly OwnNode[] = [];
  /** Made in vain and not deleted yet. */
  readonly #returning = new Set<string>();
  /** For creates in vain, and for listings behind them. */
  #earlierTrips = 0;
  #stopped = false;

  constructor(context: SessionContext, settings: CreateSettings, spec: LeasesSpec, listener: TakingListener) {
    this.#context = context;
    this.#settings = settings;
    this.#spec = spec;
    this.#listener = listener;
  }

  get roundTrips(): number {
    return this.#earlierTrips + (this.#create?.roundTrips ?? 0);
  }

  take(): void {
    const { lockName, leases, data, permits } = this.#spec;
    const part: NodePart = { lockName, parent: leases, base: leaseBase, data };
    const parts = Array.from({ length: permits }, () => part) as [NodePart, ...NodePart[]];
    this.#earlierTrips += this.#create?.roundTrips ?? 0;
    const plan = { parts, transaction: true };
    this.#create = new ProtectedNodes(this.#context, this.#settings, plan, {
      created: (nodes, [listing]) => {
        this.#taken = nodes;
        for (const node of nodes) if (!this.#listener.accepts(node)) return;
        this.#judge(listing as Children);
      },
      failed: (error) => this.#listener.failed(error),
    });
    this.#create.start();
  }

  /** Calls the listener no more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Deletes all that was made, or may have been made. */
  takeBack(): Promise<void>[] {
    const made = [...this.#taken.map(({ path }) => path), ...this.#returning];
    const deleted = made.map((path) => deleteNode(this.#context, this.#spec.lockName, path));
    return this.#create === null ? deleted : [this.#create.abandon(), ...deleted];
  }

  /** A listing from behind the create: whether what we have taken is within the limit. */
  #judge(listing: Children): void {
    if (this.#stopped) return;
    if (!listing.ok) {
      const { error } = listing;
      if (!isFinal(error)) return this.#context.again(error, () => this.#listAgain());
      const { lockName, leases } = this.#spec;
      return this.#listener.failed(
        requestFailure(`listing ${leases}`, error, this.#context.session, lockName),
      );
    }
    const { children } = listing.value;
    this.#context.grants.reconcile(this.#spec.leases, children);
    const listed = new Set(children);
    const missing = this.#taken.find(({ name }) => !listed.has(name));
    if (missing !== undefined) return this.#listener.missing(missing.path);
    // With a count that has changed meanwhile, and is not read yet, it is not known whether there is room.
    if (children.length > (this.#listener.limit() ?? 0)) return this.#giveBack();
    // What was listed may be long gone.
    if (this.#context.leaseAhead) this.#listener.taken(this.#taken as [OwnNode, ...OwnNode[]]);
    else this.#context.whenUsable(() => this.#listAgain());
  }

  #listAgain(): void {
    if (this.#stopped) return;
    this.#earlierTrips++;
    this.#context.session.send("getChildren2", { path: this.#spec.leases, watch: false }, (listing) =>
      this.#judge(listing),
    );
  }

  #giveBack(): void {
    const taken = this.#taken;
    this.#taken = [];
    for (const { path } of taken) this.#return(path);
    this.#listener.full();
  }

  #return(path: string): void {
    this.#returning.add(path);
    const { deletions, session } = this.#context;
    deletions.delete(path, (_outcome, error) => {
      this.#returning.delete(path);
      if (error === null) return;
      this.#listener.failed(requestFailure(`deleting ${path}`, error, session, this.#spec.lockName));
    });
  }
}
