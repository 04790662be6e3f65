import { BackendError, type Millis, type Runtime, UnsupportedError } from "@holdfast/core";
import type { Redis } from "ioredis";
import { AckedRuns } from "./acked-runs.js";
import type { Command, Flight, Outcome } from "./commands.js";
import { TooFewReplicasError } from "./errors.js";
import { copyOf } from "./heard-streams.js";
import { NodeConnection } from "./node-connection.js";
import type { WaitRequest } from "./redis-line.js";
import type { RequestMeter } from "./request-meter.js";
import { rightsProbe } from "./rights.js";
import {
  forgotten,
  type PolicyRefusal,
  type RunResult,
  type ScriptRun,
  scriptCommand,
} from "./script-command.js";
import type { ServerInfo } from "./server-info.js";
import { duplicateSettings, type LinkTimes } from "./settings.js";
import { unsuitable } from "./suitable.js";

/** How many replicas a provider needs. */
export interface ReplicaPolicy {
  /** How many replicas are configured for each master. */
  readonly replicas: number;
  /** How many must acknowledge a grant; with 0, WAIT is never sent. */
  readonly acks: number;
  readonly waitTimeoutMs: Millis;
}

export interface MasterNodeOptions {
  readonly runtime: Runtime;
  readonly servers: () => readonly string[];
  readonly policy: ReplicaPolicy;
  readonly times: LinkTimes;
  /** Whether something is held, so that its holder has to be notified of a failover at once. */
  readonly holding: () => boolean;
  readonly meter?: RequestMeter | undefined;
  /** Whether the connection for commands may be ended when it leads to a replica. */
  readonly redial: boolean;
  /** Whether the client for commands is ours and reconnects by itself, so that its connection may be ended. */
  readonly interruptible: boolean;
  /** Whether the client for commands is ours, so that it sends no command twice. */
  readonly own: boolean;
  /** Commands for each new connection. Their answers concern all servers together. The probe of rights follows them. */
  readonly probes: readonly Command[];
  readonly cluster: boolean;
  onTrusted(node: MasterNode, info: ServerInfo, probed: readonly Outcome[]): void;
  /** Called when the server on the connection for commands says that it is a replica. */
  onReplica?(): void;
  onBroken(node: MasterNode): void;
  onFailed(node: MasterNode): void;
}

/**
 * The two connections may lead to different masters. If the connection for commands must not be ended, the other one is ended
 * after this time.
 */
const realignMs: Millis = 200;

/** One master as this provider sees it: a connection for commands, and one for runs that wait for replicas. */
export class MasterNode {
  readonly commands: NodeConnection;
  readonly #acked: AckedRuns | null;
  readonly #options: MasterNodeOptions;
  /** Why the server refused WAIT. `null`: it did not refuse it, or was not asked yet. */
  #waitRefused: string | null = null;

  constructor(redis: Redis, options: MasterNodeOptions) {
    this.#options = options;
    const { runtime, servers, times, redial, meter, policy, probes, cluster } = options;
    const common = { runtime, servers, times, meter };
    this.commands = new NodeConnection(redis, {
      ...common,
      redial,
      own: options.own,
      holding: options.holding,
      extraWaitMs: 0,
      probes: [...probes, rightsProbe({ acks: policy.acks > 0, cluster })],
      unsuitable: (info, probed) => {
        const state = cluster ? probed.at(-2) : undefined;
        return unsuitable(info, { rights: probed.at(-1), state }, { servers: servers() });
      },
      onTrusted: (info, probed) => {
        options.onTrusted(this, info, probed);
        if (this.#acked !== null) this.#align(this.#acked, this.#acked.connection);
      },
      onReplica: () => options.onReplica?.(),
      onBroken: () => options.onBroken(this),
      onFailed: () => options.onFailed(this),
    });
    this.#acked = policy.acks === 0 ? null : this.#openAcked(redis, common);
  }

  get trusted(): boolean {
    return this.commands.trusted;
  }

  get runId(): string | null {
    return this.commands.runId;
  }

  /** `done` is called once. Throws only if `wait` is given although `acks` is not set. */
  run(run: ScriptRun, wait: WaitRequest | undefined, done: (result: RunResult) => void): void {
    if (wait === undefined) this.#once(run, done);
    else if (this.#acked === null) throw this.#noPolicy();
    else void this.#acked.run(run, wait).then(done);
  }

  /** Sends one flight, and a second one for the runs whose script the server had forgotten. */
  async runAll(runs: readonly ScriptRun[]): Promise<readonly RunResult[]> {
    const first = await this.commands.flight(runs.map((run) => scriptCommand(this.commands, run)));
    const results = runs.map((_, index) => resultOf(first, index));
    const again = runs.flatMap((run, index) => {
      const { outcome } = results[index] as RunResult;
      return forgotten(this.commands, run, outcome) ? [{ run, index }] : [];
    });
    if (again.length === 0) return results;
    const second = await this.commands.flight(again.map(({ run }) => scriptCommand(this.commands, run)));
    again.forEach(({ run, index }, place) => {
      const result = resultOf(second, place);
      forgotten(this.commands, run, result.outcome);
      results[index] = result;
    });
    return results;
  }

  /**
   * Stops using all connections. Returns the clients that were opened here, for the caller to close; the client for commands is
   * not among them.
   */
  close(): readonly Redis[] {
    this.commands.close();
    this.#acked?.close();
    this.#acked?.connection.close();
    return this.#acked === null ? [] : [this.#acked.connection.redis];
  }

  #once(run: ScriptRun, done: (result: RunResult) => void): void {
    this.#fly(run, (result) => {
      if (!forgotten(this.commands, run, result.outcome)) {
        done(result);
        return;
      }
      this.#fly(run, (second) => {
        forgotten(this.commands, run, second.outcome);
        done(second);
      });
    });
  }

  #fly(run: ScriptRun, done: (result: RunResult) => void): void {
    if (!run.asking) {
      this.commands.one(run, done);
      return;
    }
    const flight = this.commands.flight([["asking"], scriptCommand(this.commands, run)]);
    void flight.then((answered) => done(resultOf(answered, 1)));
  }

  #openAcked(
    redis: Redis,
    common: Pick<MasterNodeOptions, "runtime" | "servers" | "times" | "meter">,
  ): AckedRuns {
    const { waitTimeoutMs } = this.#options.policy;
    const own = copyOf(redis, duplicateSettings(common.times, waitTimeoutMs));
    const connection: NodeConnection = new NodeConnection(own, {
      ...common,
      // The client of this connection is always ours. In a cluster the slot map decides where it leads, so that connecting again
      // would change nothing.
      redial: !this.#options.cluster,
      own: true,
      // The number of replicas has to be known before each grant.
      holding: () => true,
      extraWaitMs: waitTimeoutMs,
      probes: [["wait", 0, 0]],
      onTrusted: (_info, [probed]) => {
        this.#waitRefused = probed !== undefined && "error" in probed ? probed.error.message : null;
        this.#align(acked, this.commands);
      },
      onBroken: () => {},
      onFailed: () => {},
    });
    const acked = new AckedRuns({
      connection,
      runtime: common.runtime,
      times: common.times,
      open: () => connection.runId !== null && connection.runId === this.runId,
      refusal: (wait) => this.#refusal(wait, connection.info),
    });
    return acked;
  }

  /**
   * Called when one of the two connections has become trusted again; `older` is the other one. Around a failover they may lead to
   * two masters. Then nothing that waits for replicas is sent, and the older connection is made again.
   */
  #align(acked: AckedRuns, older: NodeConnection): void {
    const { connection } = acked;
    if (connection.runId === null || this.runId === null) return;
    if (connection.runId === this.runId) acked.pump();
    else if (older !== this.commands || this.#options.interruptible) older.redis.disconnect(true);
    else this.#options.runtime.setTimer(realignMs, () => connection.redis.disconnect(true));
  }

  /** Refuses before anything is sent, so that the error can name the numbers. */
  #refusal({ replicas: needed }: WaitRequest, info: ServerInfo | null): PolicyRefusal | null {
    if (this.#waitRefused !== null) {
      return new UnsupportedError(
        `this server has no WAIT, which the option acks needs: ${this.#waitRefused}; set acks: "none"`,
        { backend: "redis" },
      );
    }
    const connected = info?.connectedReplicas;
    if (connected === undefined || connected >= needed) return null;
    const { replicas: configured } = this.#options.policy;
    return new TooFewReplicasError({ needed, configured, connected }, { servers: this.#options.servers() });
  }

  #noPolicy(): Error {
    return new BackendError("a run that waits for replicas needs the option acks", {
      backend: "redis",
      servers: this.#options.servers(),
      retryable: false,
    });
  }
}

function resultOf(flight: Flight, index: number): RunResult {
  const { sentMs, answeredMs, runId, outcomes } = flight;
  const outcome = outcomes[index];
  if (outcome === undefined) throw new RangeError(`a flight of ${outcomes.length} has no ${index}`);
  return { outcome, sentMs, answeredMs, runId, acknowledged: null };
}
