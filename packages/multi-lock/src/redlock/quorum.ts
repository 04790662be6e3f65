import { type Millis, ProviderClosedError, type Runtime, type SessionState } from "@holdfast/core";
import type { BackendLink, Grant } from "@holdfast/core/driver";
import { type EventHub, settledWithin } from "@holdfast/core/internal";
import {
  grantChannel,
  marginMs,
  parseGrantMessage,
  type RequestMeter,
  requestMeter,
  type Subscription,
  WireOwners,
} from "@holdfast/redis-recipes/internal";
import { type Ballot, holdRound, repliesOf, tooFewError, votesOf } from "./ballot.js";
import { checkDistinct, clocksApart } from "./distinct-nodes.js";
import type { ResolvedRedLocksOptions } from "./options.js";
import { type NodeListener, type OpenLine, VotingNode } from "./voting-node.js";

/** A hold, with the methods that report to it what the nodes and other clients do. */
export interface QuorumHold extends Grant {
  /** The lock's key. */
  readonly key: string;
  /** The connections to a majority came back or broke. */
  contactChanged(): void;
  /** The vote of a node is in doubt. `forgotten`: the node may have given our vote to another client since. */
  doubt(node: VotingNode, options: { readonly forgotten: boolean }): void;
  revokeAsked(): void;
  /** The hold is over, as too few standing votes or another grant of the same lock show, however late that is noticed. */
  majorityLost(): void;
}

/** The nodes of one provider, of which a majority decides, and the provider's holds. It is connected while a majority of the nodes is. */
export class Quorum implements BackendLink, NodeListener {
  readonly runtime: Runtime;
  readonly settings: ResolvedRedLocksOptions;
  readonly nodes: readonly VotingNode[];
  readonly majority: number;
  readonly owners: WireOwners;
  readonly holds: Set<QuorumHold> = new Set<QuorumHold>();
  readonly meter: RequestMeter | undefined;
  state: SessionState = "connecting";
  readonly #events: EventHub;
  readonly #warned = new Set<string>();
  /** The subscriptions to the channel of this provider, one on each node. */
  #subscriptions: readonly Subscription[] = [];

  constructor(settings: ResolvedRedLocksOptions, events: EventHub, open?: OpenLine) {
    const { runtime } = settings.common;
    this.runtime = runtime;
    this.settings = settings;
    this.owners = new WireOwners(runtime.randomId());
    this.majority = Math.floor(settings.nodes.length / 2) + 1;
    this.meter = requestMeter(events);
    this.#events = events;
    this.nodes = settings.nodes.map((node) => new VotingNode(node, settings.common, this, open));
  }

  /** Whether a majority of the nodes can be asked now. */
  get connected(): boolean {
    return this.nodes.filter((node) => node.connected).length >= this.majority;
  }

  /** Rejects with `QuorumError` when each node is connected or has failed, and fewer than a majority are connected. */
  async whenConnected(options: { readonly waitMs: Millis; readonly signal?: AbortSignal }): Promise<void> {
    if (this.state === "connected") return;
    const { nodes, majority } = this;
    const refusals = (ballots: readonly Ballot<void>[]) =>
      ballots.flatMap(({ outcome }) =>
        "error" in outcome && (options.signal?.aborted || outcome.error instanceof ProviderClosedError)
          ? [outcome.error]
          : [],
      );
    const round = await holdRound(this, {
      nodes,
      ask: ({ line }) => line.whenConnected(options),
      decided: (ballots) => repliesOf(ballots).length >= majority || refusals(ballots).length > 0,
      needed: nodes.length,
    });
    if (repliesOf(round.ballots).length >= majority) return;
    for (const refusal of refusals(round.ballots)) throw refusal;
    throw tooFewError("no connection to a majority", undefined, majority, votesOf(round));
  }

  /**
   * Subscribes on each node, so that from the first request on other clients can send messages to the holders of this
   * provider.
   */
  listen(): void {
    if (this.#subscriptions.length > 0) return;
    const channel = grantChannel(this.owners.uuid);
    this.#subscriptions = this.nodes.map((node) => {
      return node.listen(channel, "plain", (text) => this.#received(text, node));
    });
  }

  /**
   * Resolves when all connected nodes have confirmed these subscriptions, or after `waitMs`. A request to release that is
   * sent before the subscription is not repeated.
   */
  async heard(waitMs: Millis): Promise<void> {
    const connected = this.#subscriptions.filter((_, index) => this.nodes[index]?.connected === true);
    const subscribed = Promise.allSettled(connected.map(({ ready }) => ready));
    await settledWithin(this.runtime, subscribed, waitMs, { ref: true });
  }

  #received(text: string, node: VotingNode): void {
    const message = parseGrantMessage(text);
    const hold = [...this.holds].find(({ backendId }) => backendId === message?.owner);
    if (message?.type === "revoke") hold?.revokeAsked();
    else if (message?.type === "stolen") hold?.doubt(node, { forgotten: true });
  }

  /**
   * Throws where votes would not be independent; warns where clocks are apart. `runIds`: the run ids that nodes have just
   * answered.
   */
  checkNodes(runIds: ReadonlyMap<VotingNode, string>): void {
    checkDistinct(this.nodes, runIds);
    for (const { one, other, apartMs } of clocksApart(this.nodes, marginMs(this.settings.leaseMs))) {
      this.warn(
        `the clocks of the nodes ${one.name} and ${other.name} are ${Math.round(apartMs)} ms apart: bring them in step`,
        "HF_CLOCKS_APART",
        `apart ${one.name} ${other.name}`,
      );
    }
  }

  /**
   * A majority has just voted for another owner on this key. A hold of this provider that was relied on until now is lost
   * before the new grant.
   */
  overtake(key: string): void {
    for (const hold of [...this.holds]) if (hold.key === key) hold.majorityLost();
  }

  /** Whether another of the nodes is the same server: one memory has one vote. */
  isTwin(node: VotingNode): boolean {
    const { runId } = node;
    return runId !== null && this.nodes.some((other) => other !== node && other.runId === runId);
  }

  async close(waitMs: Millis): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.line.close(waitMs)));
  }

  // -------- what the nodes report

  connectionChanged(): void {
    const state = this.connected ? "connected" : this.state === "connecting" ? "connecting" : "suspended";
    if (state === this.state) return;
    this.state = state;
    for (const hold of [...this.holds]) hold.contactChanged();
    // The event comes after the holds have changed, so that its listeners find them in their new state.
    if (!this.#events.has("session-state")) return;
    const cluster = this.nodes.map(({ name }) => name).join(",");
    this.#events.emit("session-state", { state, timeoutMs: 0, cluster });
  }

  doubtful(node: VotingNode, why: "restarted" | "stepped"): void {
    // A node that sits out the longest lease gives our vote to no other client, whether it has forgotten it or not.
    const forgotten = why === "stepped" || (!this.settings.restartGuard && !node.durable);
    for (const hold of [...this.holds]) hold.doubt(node, { forgotten });
  }

  /** Emits a process warning, once for each value of `once`. Default: once for each message. */
  warn(message: string, code: string, once: string = message): void {
    if (this.#warned.has(once)) return;
    this.#warned.add(once);
    process.emitWarning(`redLocks: ${message}`, { type: "HoldfastWarning", code });
  }
}
