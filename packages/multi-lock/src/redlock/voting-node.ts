import type { Millis, Runtime } from "@holdfast/core";
import {
  type Answer,
  type CallScript,
  IoredisLine,
  type LineNotice,
  type LineOptions,
  type NodeAnswer,
  type RedisLine,
  type RequestMeter,
  type Script,
  ServerClock,
  type Subscription,
} from "@holdfast/redis-recipes/internal";
import type { ResolvedNode, ResolvedRedLocksOptions } from "./options.js";

export interface NodeListener {
  /** Counts the requests. */
  readonly meter: RequestMeter | undefined;
  /** A node was connected, or its connection broke. */
  connectionChanged(): void;
  /**
   * The votes on the node have to be asked for again. `restarted`: it is another server than before; `stepped`: leases on it ended before
   * their time, or will end after it.
   */
  doubtful(node: VotingNode, why: "restarted" | "stepped"): void;
  warn(message: string, code: string): void;
}

/** Connects to a node. A simulation uses lines of its own. */
export type OpenLine = (options: LineOptions) => RedisLine;

/** One of the independent masters, as this provider knows it. */
export class VotingNode {
  readonly name: string;
  readonly durable: boolean;
  readonly line: RedisLine;
  readonly #runtime: Runtime;
  readonly #listener: NodeListener;
  #clock = new ServerClock();
  #runId: string | null = null;
  /** The node's clock minus ours, and how uncertain that difference is. */
  #offset: { readonly ms: number; readonly uncertainMs: number } | null = null;

  constructor(
    { name, durable, target }: ResolvedNode,
    { runtime, connectTimeoutMs }: ResolvedRedLocksOptions["common"],
    listener: NodeListener,
    open: OpenLine = (options) => new IoredisLine(options),
  ) {
    this.name = name;
    this.durable = durable;
    this.#runtime = runtime;
    this.#listener = listener;
    this.line = open({
      target,
      runtime,
      connectTimeoutMs,
      policy: { replicas: 0, acks: 0, waitTimeoutMs: 1 },
      shardedPubSub: "off",
      meter: listener.meter,
      onState: () => listener.connectionChanged(),
      warn: (message, code) => listener.warn(message, code),
    });
    this.line.onRenewed((what: LineNotice) => {
      if (what === "master") listener.doubtful(this, "restarted");
    });
  }

  get connected(): boolean {
    return this.line.state === "connected";
  }

  /** The run id that the node last gave; `null` while it is not connected. */
  get runId(): string | null {
    return this.connected ? (this.line.masterOf("") ?? this.#runId) : null;
  }

  get offset(): { readonly ms: number; readonly uncertainMs: number } | null {
    return this.connected ? this.#offset : null;
  }

  /** Server time after which a request that is sent now is too late. */
  notAfterMs(withinMs: Millis): number | null {
    const upperMs = this.#clock.upperMs(this.#runtime.nowMs());
    return upperMs === null ? null : upperMs + withinMs;
  }

  /**
   * Subscribes to a channel of the node. Messages are only hints: the next request finds what a node without a subscription
   * cannot report.
   */
  listen(channel: string, kind: "plain" | "redisson", heard: (text: string) => void): Subscription {
    const subscription = this.line.subscribe(channel, kind, heard);
    subscription.ready.catch(() => {});
    return subscription;
  }

  /** Runs a script, and keeps what its answer says of the node. Rejects as `RedisLine.run` does. */
  async ask<A, R extends NodeAnswer>(
    script: CallScript<A, R>,
    keys: readonly string[],
    args: A,
  ): Promise<Answer<R>> {
    const answer = await this.line.run(script as Script<R>, keys, script.args(args));
    this.#heard(answer);
    return answer;
  }

  #heard({ reply, sentMs, answeredMs }: Answer<NodeAnswer>): void {
    if (reply.runId !== this.#runId) {
      const before = this.#runId;
      this.#runId = reply.runId;
      this.#clock = new ServerClock();
      if (before !== null) this.#listener.doubtful(this, "restarted");
    }
    this.#offset = {
      ms: reply.serverMs - (sentMs + answeredMs) / 2,
      uncertainMs: (answeredMs - sentMs) / 2,
    };
    if (!this.#clock.observe({ serverMs: reply.serverMs, sentMs, answeredMs })) {
      this.#listener.warn(
        `the clock of the node ${this.name} was stepped: leases on it end too early or too late; let its clock be slewed only`,
        "HF_CLOCK_STEP",
      );
      this.#listener.doubtful(this, "stepped");
    }
  }
}
