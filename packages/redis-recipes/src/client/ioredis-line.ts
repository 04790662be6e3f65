import {
  type BackendError,
  type Millis,
  ProviderClosedError,
  type Runtime,
  type SessionState,
} from "@holdfast/core";
import { ConnectionWaiters } from "@holdfast/core/internal";
import type { Script, ScriptArgs } from "../scripts/script.js";
import { ClusterTopology } from "./cluster-topology.js";
import type { Outcome } from "./commands.js";
import { NotSentError, ReplyError, redirection } from "./errors.js";
import type { MasterNode, ReplicaPolicy } from "./master-node.js";
import { noConnection } from "./no-connection.js";
import type {
  Answer,
  LineNotice,
  RedisLine,
  RunOptions,
  ScriptCall,
  Subscription,
  WaitRequest,
} from "./redis-line.js";
import type { RequestMeter } from "./request-meter.js";
import { missingRights } from "./rights.js";
import type { RunResult, ScriptRun } from "./script-command.js";
import type { ClockReading, ServerInfo } from "./server-info.js";
import { defaultTimes, type LinkTimes } from "./settings.js";
import { SingleTopology } from "./single-topology.js";
import { Subscriptions } from "./subscriptions.js";
import { isCluster, type RedisTarget } from "./target.js";
import type { Topology, TopologyEvents } from "./topology.js";
import { ServerChecks, type Warn, warnOfUnsafeOptions, warnProcess } from "./warnings.js";

export interface LineOptions {
  readonly target: RedisTarget;
  readonly runtime: Runtime;
  readonly connectTimeoutMs: Millis;
  readonly policy: ReplicaPolicy;
  /** Default `defaultTimes`. */
  readonly times?: LinkTimes;
  readonly shardedPubSub: "auto" | "on" | "off";
  /** Whether something is held, so that its holder has to be notified of a failover at once. Default: always. */
  readonly holding?: () => boolean;
  readonly meter?: RequestMeter | undefined;
  onState(state: SessionState): void;
  /** Default `process.emitWarning`. */
  readonly warn?: Warn;
}

/** A run that is redirected more often than this goes in circles. */
const maxRedirections = 5;
/** How long a run waits for a cluster node that has just become known. */
const newNodeWaitMs: Millis = 500;
/** When a node gave an old slot map, another node is asked for it after this time. */
const mapAgainMs: Millis = 50;

export class IoredisLine implements RedisLine {
  readonly connectTimeoutMs: Millis;
  readonly #options: LineOptions;
  readonly #topology: Topology;
  readonly #waiters: ConnectionWaiters;
  readonly #subscriptions: Subscriptions;
  readonly #checks: ServerChecks;
  readonly #renewed = new Set<(what: LineNotice) => void>();
  readonly #broken = new Set<() => void>();
  readonly #changes = new Set<() => void>();
  #state: SessionState = "connecting";
  #sharded: boolean | null;
  #closed = false;

  constructor(options: LineOptions) {
    const { target, runtime, policy, meter, shardedPubSub, times = defaultTimes } = options;
    const holding = options.holding ?? (() => true);
    const warn = options.warn ?? warnProcess;
    this.#options = options;
    this.connectTimeoutMs = options.connectTimeoutMs;
    this.#checks = new ServerChecks(policy, warn);
    this.#sharded =
      !isCluster(target) || shardedPubSub === "off" ? false : shardedPubSub === "on" ? true : null;
    if (target.kind === "given-redis" || target.kind === "given-cluster")
      warnOfUnsafeOptions(target.client, times, warn);
    // The topology made below calls none of these before this constructor has returned: with a given client that is ready
    // already, it calls in a later turn of the event loop.
    const events: TopologyEvents = {
      trusted: (node, info, probed) => this.#trusted(node, info, probed),
      notice: (what) => this.#tell(what),
      relocated: () => this.#subscriptions.redial(),
      broken: () => {
        for (const listener of [...this.#broken]) listener();
      },
      changed: () => this.#changed(),
    };
    this.#subscriptions = new Subscriptions({
      runtime,
      topology: () => this.#topology,
      cluster: isCluster(target),
      times,
      meter,
      onRenewed: () => this.#tell("subscriptions"),
      warn: (message) => warn(message, "HF_SUBSCRIBE_DENIED"),
    });
    this.#topology =
      target.kind === "cluster" || target.kind === "given-cluster"
        ? new ClusterTopology(target, { runtime, policy, times, holding, meter }, events)
        : new SingleTopology(target, { runtime, policy, times, holding, meter }, events);
    this.#waiters = new ConnectionWaiters(runtime, this.#topology, noConnection);
  }

  get state(): SessionState {
    return this.#state;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get publishCommand(): "publish" | "spublish" {
    return this.#sharded === true ? "spublish" : "publish";
  }

  async whenConnected(options: { waitMs?: Millis; signal?: AbortSignal } = {}): Promise<void> {
    if (this.#closed) throw this.#closedError();
    if (this.#state === "connected") return;
    await this.#waiters.wait(options.waitMs ?? this.connectTimeoutMs, options.signal);
  }

  run<R>(
    script: Script<R>,
    keys: readonly string[],
    args: ScriptArgs,
    { wait }: RunOptions = {},
  ): Promise<Answer<R>> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw this.#closedError();
      const slot = this.#slotOf(keys);
      const run = { script, keys, args, asking: false };
      const ask = (node: MasterNode): void => this.#ask(script, run, node, wait, resolve, reject);
      const known = this.#topology.nodeOf(slot);
      // With one server it is known now whether it can be asked, and core itself waits for the connection. Nothing is awaited in
      // this case, so that every request made before a `close()` is sent before it.
      if (known !== null && (slot === null || known.trusted)) {
        ask(known);
        return;
      }
      this.#nodeSoon(() => this.#topology.nodeOf(slot))
        .then((node) => {
          if (node === null) throw this.#closed ? this.#closedError() : this.#noNode();
          ask(node);
        })
        .catch(reject);
    });
  }

  runAll<R>(script: Script<R>, runs: readonly ScriptCall[]): readonly Promise<Answer<R> | Error>[] {
    const answers: Promise<Answer<R> | Error>[] = [];
    const groups = new Map<MasterNode, number[]>();
    runs.forEach(({ keys }, index) => {
      const node = this.#closed ? null : this.#topology.nodeOf(this.#slotOf(keys));
      if (node === null)
        answers[index] = Promise.resolve(this.#closed ? this.#closedError() : this.#noNode());
      else groups.set(node, [...(groups.get(node) ?? []), index]);
    });
    for (const [node, indexes] of groups) {
      const group = indexes.map((index) => ({ script, ...(runs[index] as ScriptCall), asking: false }));
      const results = node.runAll(group);
      indexes.forEach((index, place) => {
        answers[index] = this.#answerOfFlight(script, group[place] as ScriptRun, results, place);
      });
    }
    return answers;
  }

  slotOf(key: string): number | null {
    return this.#topology.slotOf(key);
  }

  masterOf(key: string): string | null {
    return this.#topology.nodeOf(this.#topology.slotOf(key))?.runId ?? null;
  }

  clockAt(key: string): ClockReading | null {
    return this.#topology.nodeOf(this.#topology.slotOf(key))?.commands.clock ?? null;
  }

  subscribe(channel: string, kind: "plain" | "redisson", listener: (message: string) => void): Subscription {
    const sharded = kind === "plain" ? () => false : () => this.#sharded;
    return this.#subscriptions.subscribe(channel, sharded, listener);
  }

  onRenewed(listener: (what: LineNotice) => void): () => void {
    const own = (what: LineNotice): void => listener(what);
    this.#renewed.add(own);
    return () => this.#renewed.delete(own);
  }

  onBroken(listener: () => void): () => void {
    const own = (): void => listener();
    this.#broken.add(own);
    return () => this.#broken.delete(own);
  }

  async close(waitMs: Millis): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const error = this.#closedError();
    this.#waiters.reject(error);
    this.#renewed.clear();
    this.#broken.clear();
    for (const change of [...this.#changes]) change();
    const { runtime } = this.#options;
    const closed = Promise.all([this.#subscriptions.close(error), this.#topology.close()]);
    await new Promise<void>((resolve) => {
      const cancel = runtime.setTimer(waitMs, resolve, { ref: true });
      void closed.then(() => {
        cancel();
        resolve();
      });
    });
    this.#set("suspended");
  }

  /** Follows MOVED and ASK. A server that answers with one of them has not executed anything. */
  #ask<R>(
    script: Script<R>,
    run: ScriptRun,
    node: MasterNode,
    wait: WaitRequest | undefined,
    resolve: (answer: Answer<R>) => void,
    reject: (error: unknown) => void,
  ): void {
    const settle = (result: RunResult): void => {
      try {
        resolve(this.#answer(script, result));
      } catch (error) {
        reject(error);
      }
    };
    node.run(run, wait, (result) => {
      if (isRedirected(result.outcome)) this.#redirect(run, result, wait, 1).then(settle, reject);
      else settle(result);
    });
  }

  async #redirect(
    run: ScriptRun,
    result: RunResult,
    wait: WaitRequest | undefined,
    turn: number,
  ): Promise<RunResult> {
    const { outcome } = result;
    // With a single server no other server is known, and none will become known.
    if (!isRedirected(outcome) || turn > maxRedirections || this.#slotOf(run.keys) === null) return result;
    const { reply } = outcome.error;
    const kind = outcome.error.kind === "ask" ? "ask" : "moved";
    if (kind === "moved") this.#topology.outdated();
    const to = redirection(reply);
    const find = () => (to === null ? null : this.#topology.redirect(to, kind));
    const node = await this.#nodeSoon(find, { asks: kind === "moved" });
    if (node === null) return result;
    const next = await new Promise<RunResult>((resolve) =>
      node.run({ ...run, asking: kind === "ask" }, wait, resolve),
    );
    if (kind === "moved") await this.#learns(run.keys, node);
    const found = kind === "ask" ? { ...next, askedBy: result.runId } : next;
    return this.#redirect(run, found, wait, turn + 1);
  }

  /**
   * Waits until the slot map names this node for the keys. The caller compares an answer's run id with the master that the map
   * names, and would take an answer that is ahead of the map for one of a replaced master. The wait has a limit, since the nodes
   * may not agree yet.
   */
  async #learns(keys: readonly string[], node: MasterNode): Promise<void> {
    const slot = this.#slotOf(keys);
    const known = (): MasterNode | null => (this.#topology.nodeOf(slot) === node ? node : null);
    await this.#nodeSoon(known, { asks: true });
  }

  /** Throws the refusal of the server, and what `parse` throws. */
  #answer<R>(script: Script<R>, result: RunResult): Answer<R> {
    const { outcome, sentMs, answeredMs, runId, askedBy, acknowledged } = result;
    if ("error" in outcome) throw outcome.error;
    const reply = script.parse(outcome.reply);
    this.#checks.published(reply);
    const answer = { reply, sentMs, answeredMs, runId, acknowledged };
    return askedBy === undefined ? answer : { ...answer, askedBy };
  }

  async #answerOfFlight<R>(
    script: Script<R>,
    run: ScriptRun,
    results: Promise<readonly RunResult[]>,
    place: number,
  ): Promise<Answer<R> | Error> {
    try {
      const result = (await results)[place] as RunResult;
      const last = isRedirected(result.outcome) ? await this.#redirect(run, result, undefined, 1) : result;
      return this.#answer(script, last);
    } catch (error) {
      return error as Error;
    }
  }

  #slotOf(keys: readonly string[]): number | null {
    return keys[0] === undefined ? null : this.#topology.slotOf(keys[0]);
  }

  /**
   * Resolves with `null` when the node is not trusted within the limit, or when the line is closed meanwhile.
   *
   * `asks`: the slot map is read again until it has the node. Each further reading starts a moment after the last one: in the
   * turn in which a reading ends, ioredis would not start another.
   */
  #nodeSoon(
    find: () => MasterNode | null,
    { asks = false }: { readonly asks?: boolean } = {},
  ): Promise<MasterNode | null> {
    const found = find();
    if (found?.trusted === true) return Promise.resolve(found);
    const { runtime } = this.#options;
    return new Promise((resolve) => {
      let cancelAsk = (): void => {};
      const done = (node: MasterNode | null): void => {
        this.#changes.delete(look);
        cancelAsk();
        cancel();
        resolve(node);
      };
      const look = (): void => {
        const node = find();
        cancelAsk();
        if (this.#closed) done(null);
        else if (node?.trusted === true) done(node);
        else if (asks && node === null)
          cancelAsk = runtime.setTimer(mapAgainMs, () => this.#topology.outdated());
      };
      this.#changes.add(look);
      const cancel = runtime.setTimer(newNodeWaitMs, () => done(null), { ref: true });
      look();
    });
  }

  #trusted(node: MasterNode, info: ServerInfo, probed: readonly Outcome[]): void {
    this.#checks.check(node.commands.peer, info, missingRights(probed.at(-1)).telling);
    if (this.#sharded !== null) return;
    const [shards] = probed;
    if (shards === undefined) return;
    this.#sharded = "reply" in shards;
  }

  #changed(): void {
    if (this.#closed) return;
    for (const change of [...this.#changes]) change();
    this.#subscriptions.settle();
    if (this.#topology.connected) this.#set("connected");
    else if (this.#state === "connected") this.#set("suspended");
    else this.#waiters.attemptFailed();
  }

  #set(state: SessionState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState(state);
    if (state === "connected") this.#waiters.connected();
  }

  #tell(what: LineNotice): void {
    for (const listener of [...this.#renewed]) listener(what);
  }

  #noNode(): BackendError {
    const { servers, lastCause } = this.#topology;
    return new NotSentError("no master is connected for it", { servers, cause: lastCause });
  }

  #closedError(): ProviderClosedError {
    return new ProviderClosedError("the provider was closed", { backend: "redis" });
  }
}

type Redirected = { readonly error: ReplyError };

function isRedirected(outcome: RunResult["outcome"]): outcome is Redirected {
  return (
    "error" in outcome && outcome.error instanceof ReplyError && ["moved", "ask"].includes(outcome.error.kind)
  );
}
