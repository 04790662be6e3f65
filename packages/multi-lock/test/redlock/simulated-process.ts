import { fullJitterRetry, type LockProvider, type Millis, type Runtime } from "@holdfast/core";
import type { SimulatedRuntime } from "@holdfast/core/testing";
import { calm, SimulatedLine, type Weather } from "../../../redis-recipes/test/recipes/simulated-line.js";
import { type RedLocksOptions, resolveRedLocks } from "../../src/redlock/options.js";
import type { QuorumHold } from "../../src/redlock/quorum.js";
import { openRedLocks } from "../../src/redlock/red-locks.js";
import type { SimulatedNode } from "./simulated-node.js";

/** What a process would believe of a hold if it were asked now. */
export interface Belief {
  readonly owner: string;
  readonly untilMs: Millis;
}

/** This line reports its state in a turn of its own. So a wait for the connection ends in a turn of its own too. */
class NodeLine extends SimulatedLine {
  readonly #runtime: Runtime;

  constructor(node: SimulatedNode, runtime: Runtime, weather: Weather) {
    super(node, runtime, weather);
    this.#runtime = runtime;
  }

  override async whenConnected(options: { waitMs: Millis }): Promise<void> {
    await super.whenConnected(options);
    await new Promise<void>((resolve) => this.#runtime.setTimer(0, resolve));
  }
}

/** A process with `redLocks` on simulated nodes and its own clock. All but the connections is the real code. */
export class SimulatedProcess {
  readonly runtime: Runtime;
  readonly lines: readonly SimulatedLine[];
  readonly locks: LockProvider;
  crashed = false;
  readonly #world: SimulatedRuntime;
  readonly #rate: number;
  readonly #holds: ReadonlySet<QuorumHold>;
  #pausedUntilMs: Millis = 0;

  /** `rate`: by what share the process's clock is faster than the world's. */
  constructor(
    nodes: readonly SimulatedNode[],
    options: Omit<RedLocksOptions, "nodes" | "runtime">,
    { weather = calm, rate = 0 }: { weather?: Weather; rate?: number } = {},
  ) {
    this.#world = (nodes[0] as SimulatedNode).runtime;
    this.#rate = rate;
    this.runtime = this.#ownRuntime();
    const lines: SimulatedLine[] = [];
    this.lines = lines;
    const settings = resolveRedLocks({
      ...options,
      nodes: nodes.map((_, index) => `redis://node-${index}:6379`),
      runtime: this.runtime,
      connectTimeoutMs: 60_000,
      retry: fullJitterRetry({ random: () => this.runtime.random() }),
    });
    const { locks, quorum } = openRedLocks(settings, ({ onState }) => {
      const line = new NodeLine(nodes[lines.length] as SimulatedNode, this.runtime, weather);
      line.onState = onState;
      lines.push(line);
      this.runtime.setTimer(0, () => onState(line.state));
      return line;
    });
    this.locks = locks;
    this.#holds = quorum.holds;
  }

  get nowMs(): Millis {
    return this.runtime.nowMs();
  }

  /** Holds whose advertised validity is not over. Reading them runs no code of the process, so a paused process stays paused. */
  get beliefs(): readonly Belief[] {
    if (this.crashed) return [];
    const { nowMs } = this;
    return [...this.#holds].flatMap((hold) => {
      const untilMs = hold.validUntilMs();
      return untilMs > nowMs ? [{ owner: hold.backendId, untilMs }] : [];
    });
  }

  /** No timer of the process runs for `forMs`, while time goes on. */
  pause(forMs: Millis): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#world.nowMs() + forMs);
  }

  crash(): void {
    this.crashed = true;
    for (const line of this.lines) void line.close();
  }

  pass(forMs: Millis): Promise<void> {
    return new Promise((resolve) => this.runtime.setTimer(forMs, resolve));
  }

  #ownRuntime(): Runtime {
    const world = this.#world;
    const rate = 1 + this.#rate;
    return {
      nowMs: () => world.nowMs() * rate,
      wallMs: () => world.wallMs(),
      random: () => world.random(),
      randomId: () => world.randomId(),
      setTimer: (delayMs, fn) => {
        let cancel = (): void => {};
        const ring = (): void => {
          if (this.crashed) return;
          const leftMs = this.#pausedUntilMs - world.nowMs();
          if (leftMs > 0) cancel = world.setTimer(leftMs, ring);
          else fn();
        };
        // As in Node.js, a delay is a whole number of milliseconds, rounded down, and at least 1. A delay of 0 is the next turn.
        const wholeMs = delayMs <= 0 ? 0 : Math.max(1, Math.trunc(Math.min(delayMs, 2 ** 31)));
        cancel = world.setTimer(wholeMs / rate, ring);
        return () => cancel();
      },
    };
  }
}
