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

/** What a provider asks of replicas. */
export interface ReplicaPolicy {
  /** Configured for each master. */
  readonly replicas: number;
  /** Needed for a grant; 0: WAIT is never sent. */
  readonly acks: number;
  readonly waitTimeoutMs: Millis;
}

export interface MasterNodeOptions {
  readonly runtime: Runtime;
  readonly servers: () => readonly string[];
  readonly policy: ReplicaPolicy;
  readonly times: LinkTimes;
  /** Something is held, whose holder has to hear of a failover at once. */
  readonly holding: () => boolean;
  readonly meter?: RequestMeter | undefined;
  /** The connection for commands may be ended where it leads to a replica. */
  readonly redial: boolean;
  /** The client for commands is ours, and makes a new connection by itself: a connection of it may be ended. */
  readonly interruptible: boolean;
  /** The client for commands is ours, and sends none twice. */
  readonly own: boolean;
  /** Commands for each new connection, whose answers are about all servers together; the probe of rights follows them. */
  readonly probes: readonly Command[];
  readonly cluster: boolean;
  onTrusted(node: MasterNode, info: ServerInfo, probed: readonly Outcome[]): void;
  /** The server says to the connection for commands that it is a replica. */
  onReplica?(): void;
  onBroken(node: MasterNode): void;
  onFailed(node: MasterNode): void;
}

/** When a connection that leads to another master than the one for commands is made again, where the one for commands has to stay. */
const realignMs: Millis = 200;

/** A master as this provider talks to it: one connection for commands, and one for those that wait for replicas. */
export class MasterNode {
  readonly commands: NodeConnection;
  readonly #acked: AckedRuns | null;
  readonly #options: MasterNodeOptions;
  /** `null`: not asked yet. */
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

  /** `done` is called once. Throws only where `acks` is not set and `wait` is given all the same. */
  run(run: ScriptRun, wait: WaitRequest | undefined, done: (result: RunResult) => void): void {
    if (wait === undefined) this.#once(run, done);
    else if (this.#acked === null) throw this.#noPolicy();
    else void this.#acked.run(run, wait).then(done);
  }

  /** One flight, and a second one for those whose script was forgotten. */
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

  /** Closes what was opened here; the client for commands is its maker's. */
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
      // This connection is always ours. In a cluster the map of the slots says where it leads, so that dialling again changes nothing.
      redial: !this.#options.cluster,
      own: true,
      // How many replicas there are has to be known before each grant.
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
   * One of the two connections is trusted anew. Around a failover they may lead to two masters: nothing that waits for replicas is
   * sent then, and the one that is older is made again.
   */
  #align(acked: AckedRuns, older: NodeConnection): void {
    const { connection } = acked;
    if (connection.runId === null || this.runId === null) return;
    if (connection.runId === this.runId) acked.pump();
    else if (older !== this.commands || this.#options.interruptible) older.redis.disconnect(true);
    else this.#options.runtime.setTimer(realignMs, () => connection.redis.disconnect(true));
  }

  /** Known before anything is sent, with the numbers. */
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
