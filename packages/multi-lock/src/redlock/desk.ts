import type { Millis, Runtime } from "@holdfast/core";
import { marginMs, type RequestMeter, wireOwner, wireUuid } from "@holdfast/redis-recipes/internal";
import { checkDistinct, clocksApart } from "./distinct-nodes.js";
import { NodeLock } from "./node-locks.js";
import type { ResolvedRedLocksOptions } from "./options.js";
import { OwnChannel } from "./own-channel.js";
import type { RedLockGrant } from "./red-lock-grant.js";
import { type OpenLine, VotingNode } from "./voting-node.js";
import { Withdrawal } from "./withdrawal.js";

export interface DeskListener {
  /** Of the requests to all nodes. */
  readonly meter?: RequestMeter | undefined;
  connectionChanged(): void;
}

/** What all locks of one provider share: the nodes, who of us holds, and what is wrong with the nodes. */
export class RedLockDesk {
  readonly runtime: Runtime;
  readonly settings: ResolvedRedLocksOptions;
  readonly nodes: readonly VotingNode[];
  readonly majority: number;
  /** Ours on the wire. */
  readonly uuid: string;
  readonly holds: Set<RedLockGrant> = new Set<RedLockGrant>();
  readonly ownChannel: OwnChannel;
  #owners = 0;
  readonly #told = new Set<string>();

  constructor(settings: ResolvedRedLocksOptions, listener: DeskListener, open?: OpenLine) {
    const { runtime, connectTimeoutMs } = settings.common;
    this.runtime = runtime;
    this.settings = settings;
    this.uuid = wireUuid(runtime.randomId());
    this.majority = Math.floor(settings.nodes.length / 2) + 1;
    this.nodes = settings.nodes.map(
      (node) =>
        new VotingNode(
          node,
          runtime,
          connectTimeoutMs,
          {
            meter: listener.meter,
            connectionChanged: () => listener.connectionChanged(),
            doubtful: (doubted, why) => this.#doubt(doubted, why),
            warn: (message, code) => this.#warn(message, code),
          },
          open,
        ),
    );
    this.ownChannel = new OwnChannel(runtime, this.uuid, this.nodes, {
      revokeAsked: (owner) => this.#holdOf(owner)?.revokeAsked(),
      stolen: (owner, node) => this.#holdOf(owner)?.doubt(node, { forgotten: true }),
    });
  }

  get connected(): number {
    return this.nodes.filter((node) => node.connected).length;
  }

  lock(name: string): NodeLock {
    return new NodeLock(name, this.settings.keyPrefix + name, this.settings);
  }

  /** Fresh for each round of votes, and never used again however it ends. */
  freshOwner(): string {
    return wireOwner(this.uuid, ++this.#owners);
  }

  /** `spared`: so many nodes are waited for no longer than one round. Default: as many as cannot keep a majority from others. */
  withdraw(
    lock: NodeLock,
    owner: string,
    nodes: readonly VotingNode[],
    leaseMs: Millis,
    spared: number = this.nodes.length - this.majority,
  ): Withdrawal {
    const { runtime, settings } = this;
    return new Withdrawal({
      runtime,
      lock,
      owner,
      nodes,
      spared,
      nodeTimeoutMs: settings.nodeTimeoutMs,
      endMs: runtime.nowMs() + leaseMs + 2 * marginMs(leaseMs),
    });
  }

  /** Throws where votes would not be independent; warns where clocks are apart. */
  checkNodes(told: ReadonlyMap<VotingNode, string>): void {
    checkDistinct(this.nodes, told);
    for (const { one, other, apartMs } of clocksApart(this.nodes, marginMs(this.settings.leaseMs))) {
      this.#warn(
        `the clocks of the nodes ${one.name} and ${other.name} are ${Math.round(apartMs)} ms apart: bring them in step`,
        "HF_CLOCKS_APART",
        `apart ${one.name} ${other.name}`,
      );
    }
  }

  /** A majority has just voted for somebody else on this key: whoever of us still believes to hold it is told first. */
  overtake(key: string): void {
    for (const hold of [...this.holds]) if (hold.key === key) hold.overtaken();
  }

  /** Whether another of the nodes is the same server: one memory has one vote. */
  isTwin(node: VotingNode): boolean {
    const { runId } = node;
    return runId !== null && this.nodes.some((other) => other !== node && other.runId === runId);
  }

  contactChanged(): void {
    const there = this.connected >= this.majority;
    for (const hold of [...this.holds]) {
      if (there) hold.contactRegained();
      else hold.becomeUncertain();
    }
  }

  async close(waitMs: Millis): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.line.close(waitMs)));
  }

  #holdOf(owner: string): RedLockGrant | undefined {
    return [...this.holds].find(({ backendId }) => backendId === owner);
  }

  #doubt(node: VotingNode, why: "restarted" | "stepped"): void {
    // One that sits out the longest lease gives our vote to nobody else, whether it has forgotten it or not.
    const forgotten = why === "stepped" || (!this.settings.restartGuard && !node.durable);
    for (const hold of [...this.holds]) hold.doubt(node, { forgotten });
  }

  #warn(message: string, code: string, once: string = message): void {
    if (this.#told.has(once)) return;
    this.#told.add(once);
    process.emitWarning(`redLocks: ${message}`, { type: "HoldfastWarning", code });
  }
}
