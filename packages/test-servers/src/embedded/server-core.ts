import { createServer, type Server, type Socket } from "node:net";
import { TestServerError } from "../errors.js";
import { deepestFirst } from "../sequences.js";
import { clean } from "./cleaner.js";
import { type Clock, SystemClock } from "./clock.js";
import { type Behaviour, behaviourOf } from "./compat.js";
import { Connection, type ConnectionHost } from "./connection.js";
import type { FaultHost } from "./faults/fault-host.js";
import { Faults } from "./faults/faults.js";
import { answerWord, knownWords } from "./four-letter-words.js";
import type { EmbeddedZooKeeperOptions } from "./options.js";
import { Pipeline, type PipelineHost } from "./pipeline.js";
import { Random } from "./random.js";
import type { Session } from "./sessions.js";
import type { Stages } from "./stages.js";
import { State } from "./state.js";
import type { Notice } from "./watches.js";

// Taken when this module loads: a test that fakes the timers of its process later does not stop the server.
const soon = globalThis.setImmediate;
const containersAtOnce = 10_000;
const handshakeLimitMs = 10_000;

/** The sockets and timers around one state, about which the state machine must not know. */
export class ServerCore implements ConnectionHost, PipelineHost, FaultHost {
  readonly host: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly faults: Faults;
  readonly #options: EmbeddedZooKeeperOptions;
  readonly #behaviour: Behaviour;
  readonly #words: ReadonlySet<string>;
  readonly #pipeline: Pipeline;
  /** All connections with a socket, whether or not they still serve a client. */
  readonly #connections = new Set<Connection>();
  readonly #bySession = new Map<bigint, Connection>();
  readonly #impatience = new Map<Connection, () => void>();
  readonly #unflushed = new Set<Connection>();
  #starts = 0;
  readonly #startedAtMs: number;
  #state: State;
  #server: Server | undefined;
  #port: number;
  #paused: "clock running" | "clock frozen" | undefined;
  #count = 0;
  #cancelExpiry: (() => void) | undefined;
  #expiryAtMs = Number.POSITIVE_INFINITY;
  #cancelCleaning: (() => void) | undefined;

  constructor(options: EmbeddedZooKeeperOptions) {
    this.#options = options;
    this.host = options.host ?? "127.0.0.1";
    this.#port = options.port ?? 0;
    this.clock =
      options.clock === undefined || options.clock === "system" ? new SystemClock() : options.clock;
    this.random = new Random(options.seed ?? 1);
    this.#behaviour = behaviourOf(options.compat ?? "3.8");
    const { words = this.#behaviour.defaultWords } = options;
    this.#words = new Set(words === "all" ? knownWords : words);
    this.#startedAtMs = this.clock.nowMs();
    this.#state = this.#newState();
    this.#pipeline = new Pipeline(this);
    this.faults = new Faults(this);
  }

  get port(): number {
    return this.#port;
  }

  get state(): State {
    return this.#state;
  }

  get paused(): boolean {
    return this.#paused !== undefined;
  }

  get stages(): Stages | undefined {
    return this.faults.active ? this.faults : undefined;
  }

  async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host: this.host, port: this.#port, backlog: 1_024 }, resolve);
    });
    const address = server.address();
    if (address === null || typeof address === "string") {
      throw new TestServerError("the embedded ZooKeeper listens without a port");
    }
    this.#port = address.port;
    this.#server = server;
    this.#armCleaning();
    this.#armExpiry();
  }

  /** Closes the port and every connection, and cancels its timers, so that nothing expires while it is down. */
  async hangUp(): Promise<void> {
    this.#cancelCleaning?.();
    this.#cancelExpiry?.();
    this.#expiryAtMs = Number.POSITIVE_INFINITY;
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => {
      if (server === undefined) resolve();
      else server.close(() => resolve());
    });
    for (const connection of [...this.#connections]) connection.destroy();
    await closed;
  }

  /** What a start does to the state: keeps it and renews its sessions, or replaces it by an empty one. */
  reload(keepState: boolean): void {
    this.#paused = undefined;
    if (keepState) this.#state.sessions.touchAll(this.clock.nowMs());
    else this.#state = this.#newState();
  }

  pause(clock: "running" | "frozen"): void {
    this.#paused = clock === "frozen" ? "clock frozen" : "clock running";
    for (const connection of this.#connections) connection.pause();
  }

  resume(): void {
    const how = this.#paused;
    if (how === undefined) return;
    this.#paused = undefined;
    if (how === "clock frozen") this.#state.sessions.touchAll(this.clock.nowMs());
    this.#expireDue();
    for (const connection of this.#impatience.keys()) this.#awaitHandshake(connection);
    for (const connection of [...this.#connections]) connection.resume();
  }

  clean(): number {
    return clean(this.#state, {
      mostAtOnce: containersAtOnce,
      maxNeverUsedMs: this.#options.containerMaxNeverUsedIntervalMs ?? 0,
    });
  }

  connectionOf(sessionId: bigint): Connection | undefined {
    return this.#bySession.get(sessionId);
  }

  bind(connection: Connection, session: Session): void {
    connection.sessionId = session.id;
    this.#bySession.set(session.id, connection);
    this.#armExpiry();
  }

  unbind(sessionId: bigint): void {
    this.#bySession.delete(sessionId);
  }

  expire(sessionId: bigint, how: "flush" | "mute" | "keep"): void {
    const connection = this.#bySession.get(sessionId);
    const before = connection?.outbox.pushed ?? 0;
    this.#state.closeSession(sessionId);
    this.#state.sessions.expired += 1;
    if (connection === undefined || how === "keep" || connection.view?.cutOff === true) return;
    const events = connection.outbox.pushed - before;
    // Real clients have received all, some or none of the events about their own nodes before the end.
    if (events > 0) connection.outbox.truncate(events, this.random.below(events + 1));
    connection.close(how);
  }

  answersWord(connection: Connection, word: string): boolean {
    const answer = answerWord(word, this.#words, {
      state: this.#state,
      port: this.#port,
      connections: [...this.#connections].filter(({ closed }) => !closed),
      startedAtMs: this.#startedAtMs,
    });
    if (answer === undefined) return false;
    connection.send(Buffer.from(answer));
    connection.close("flush");
    return true;
  }

  onHandshake(connection: Connection, frame: Buffer): void {
    this.#stopWaiting(connection);
    this.#pipeline.handshake(connection, frame);
  }

  onFrame(connection: Connection, frame: Buffer): void {
    this.#pipeline.frame(connection, frame);
  }

  onNotice(connection: Connection, notice: Notice): void {
    this.#pipeline.notice(connection, notice);
  }

  flushSoon(connection: Connection): void {
    if (this.#unflushed.size === 0) {
      // Waits one turn more than necessary. A FIN that came directly after a request is then seen before the reply goes
      // out, and the reply is never sent. Real servers, which write to disk in between, behave the same.
      soon(() => soon(() => this.#flushAll()));
    }
    this.#unflushed.add(connection);
  }

  onBatchEnd(): void {
    this.#state.tree.settle();
  }

  onClosed(connection: Connection): void {
    this.#stopWaiting(connection);
    this.#state.watches.forget(connection);
    this.faults.forget(connection);
    if (this.#bySession.get(connection.sessionId) === connection)
      this.#bySession.delete(connection.sessionId);
  }

  onGone(connection: Connection): void {
    this.#connections.delete(connection);
  }

  #newState(): State {
    const { tickTimeMs: tickMs = 500, extendedTypes = false, sequences = {} } = this.#options;
    const { minSessionTimeoutMs = 2 * tickMs, maxSessionTimeoutMs = 20 * tickMs } = this.#options;
    const state = new State({
      behaviour: this.#behaviour,
      clock: this.clock,
      random: this.random,
      tickMs,
      minTimeoutMs: minSessionTimeoutMs,
      maxTimeoutMs: maxSessionTimeoutMs,
      extendedTypes,
      startsBefore: this.#starts++,
    });
    for (const [path, counter] of deepestFirst(sequences)) state.presetSequence(path, counter);
    return state;
  }

  #accept(socket: Socket): void {
    const connection = new Connection(this, socket, ++this.#count);
    const { maxClientCnxns = 0 } = this.#options;
    const full = maxClientCnxns > 0 && this.#connections.size >= maxClientCnxns;
    if (full || this.stages?.accepted(connection) === false) {
      connection.destroy();
      return;
    }
    this.#connections.add(connection);
    this.#awaitHandshake(connection);
    if (this.paused) connection.pause();
  }

  /** Gives the handshake its whole time from now on. A paused server closes nothing. */
  #awaitHandshake(connection: Connection): void {
    this.#impatience.get(connection)?.();
    const giveUp = (): void => {
      if (!this.paused) connection.close("drop");
    };
    this.#impatience.set(connection, this.clock.at(this.clock.nowMs() + handshakeLimitMs, giveUp));
  }

  #stopWaiting(connection: Connection): void {
    this.#impatience.get(connection)?.();
    this.#impatience.delete(connection);
  }

  #flushAll(): void {
    const connections = [...this.#unflushed];
    this.#unflushed.clear();
    for (const connection of connections) connection.flush();
  }

  #expireDue(): void {
    if (this.paused) return;
    for (const { id } of this.#state.sessions.due(this.clock.nowMs())) this.expire(id, "flush");
    this.#armExpiry();
  }

  #armExpiry(): void {
    const atMs = this.#state.sessions.nextExpiryMs() ?? Number.POSITIVE_INFINITY;
    if (atMs === this.#expiryAtMs || this.#server === undefined) return;
    this.#cancelExpiry?.();
    this.#cancelExpiry = undefined;
    this.#expiryAtMs = atMs;
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#cancelExpiry = this.clock.at(atMs, () => {
      this.#expiryAtMs = Number.POSITIVE_INFINITY;
      this.#expireDue();
    });
  }

  #armCleaning(): void {
    const { containerCheckIntervalMs = 60_000 } = this.#options;
    this.#cancelCleaning = this.clock.at(this.clock.nowMs() + containerCheckIntervalMs, () => {
      if (!this.paused) this.clean();
      this.#armCleaning();
    });
  }
}
