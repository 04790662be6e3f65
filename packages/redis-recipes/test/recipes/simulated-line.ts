import { type Millis, ProviderClosedError, type Runtime, type SessionState } from "@holdfast/core";
import { NotSentError, OutcomeUnknownError, ReplyError, refusalKind } from "../../src/client/errors.js";
import type {
  Answer,
  LineNotice,
  RedisLine,
  RunOptions,
  ScriptCall,
  Subscription,
} from "../../src/client/redis-line.js";
import type { ClockReading } from "../../src/client/server-info.js";
import type { Script, ScriptArgs } from "../../src/scripts/script.js";
import type { SimulatedRedis } from "./simulated-redis.js";

/** What happens to one request, reply or message. */
export interface Weather {
  /** The time one way. */
  delayMs(): Millis;
  /** When a request on a broken connection arrives at the server all the same. `null`: never. */
  strayMs(): Millis | null;
  /** Whether a request leaves the order of its connection, like one whose script the server had forgotten. */
  reorders(): boolean;
  /** The delay of each copy of a message. Empty: the message is lost. */
  message(): readonly Millis[];
  /** The error that the server answers instead of running the script. `null`: it runs the script. */
  refuses(script: string): string | null;
}

export const calm: Weather = {
  delayMs: () => 1,
  strayMs: () => null,
  reorders: () => false,
  message: () => [1],
  refuses: () => null,
};

const servers = ["127.0.0.1:6379"];
/** The time-out of the real line. */
const commandTimeoutMs: Millis = 1_000;
/** After this time a connection that led to a replica is made again, or its server is asked again for its role. */
const redialMs: Millis = 200;

/** Keeps the order of a connection, because timers of one moment run in any order. */
const apartMs: Millis = 0.000_01;

type Executed<R> = Answer<R> & { readonly executedMs: Millis };

interface Flying {
  /** The connection ends before the answer. */
  breakOff(): void;
}

/** A provider's connections to a simulated Redis. `runtime` is the client's, which may be paused. */
export class SimulatedLine implements RedisLine {
  state: SessionState = "connected";
  closed = false;
  readonly publishCommand = "publish";
  /** When the server ran the last request whose answer the recipes have. They get the answers of one flight together. */
  heardMs: Millis = -Infinity;
  /**
   * By how much the server's clock was set without an answer that shows it. An answer that took that long does not show it.
   * Infinity: there is another master.
   */
  hiddenMs: Millis = 0;
  #disturbedMs: Millis = -Infinity;
  #lastHeard: Executed<unknown> | null = null;
  onState: (state: SessionState) => void = () => {};
  readonly #world: Runtime;
  readonly #client: Runtime;
  readonly #redis: SimulatedRedis;
  weather: Weather;
  #runId: string;
  #subscribed = true;
  /** Is replaced after each loss. */
  #heard = Promise.resolve();
  #requestsDueMs: Millis = 0;
  #repliesDueMs: Millis = 0;
  readonly #flying = new Set<Flying>();
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  readonly #renewed = new Set<(what: LineNotice) => void>();
  readonly #brokenListeners = new Set<() => void>();
  #shardGone = false;
  readonly #waiting = new Set<() => void>();

  constructor(redis: SimulatedRedis, client: Runtime, weather: Weather) {
    this.#redis = redis;
    this.#world = redis.runtime;
    this.#client = client;
    this.weather = weather;
    this.#runId = redis.runId;
  }

  // -------- what happens to it

  /** The connection for commands breaks. */
  cut(): void {
    if (this.closed || this.state !== "connected") return;
    this.#set("suspended");
    for (const each of [...this.#flying]) each.breakOff();
  }

  /** The server's clock was set, or another master came (`Infinity`). */
  disturb(byMs: Millis): void {
    this.hiddenMs += byMs;
    this.#disturbedMs = this.#world.nowMs();
  }

  /** Cuts the connection as in a cluster whose other masters still answer. */
  cutShard(): void {
    this.#shardGone = true;
    for (const each of [...this.#brokenListeners]) each();
  }

  cutSubscriptions(): void {
    this.#subscribed = false;
    this.#heard = Promise.resolve();
  }

  /** The channels come back one after the other. Only after the last one the line reports that messages may be missing. */
  hearAgain(): void {
    this.#subscribed = true;
  }

  /** Both connections lead to the present master again. */
  mend(): void {
    if (this.closed) return;
    const master = this.#runId !== this.#redis.runId;
    const subscriptions = !this.#subscribed;
    const commands = this.state !== "connected";
    this.#runId = this.#redis.runId;
    this.#subscribed = true;
    const tell = (what: LineNotice): void => {
      for (const each of [...this.#renewed]) each(what);
    };
    if (commands) {
      tell(master ? "master" : "commands");
      this.#set("connected");
      for (const each of [...this.#waiting]) each();
      this.#waiting.clear();
    }
    if (subscriptions) tell("subscriptions");
  }

  /** Whether the channel has a listener here. */
  listensTo(channel: string): boolean {
    return (this.#listeners.get(channel)?.size ?? 0) > 0;
  }

  /** Sends a message of the server, which arrives after its delays. */
  publish(channel: string, message: string): void {
    if (!this.#subscribed) return;
    for (const delayMs of this.weather.message()) {
      this.#world.setTimer(delayMs, () =>
        this.#client.setTimer(0, () => {
          if (this.closed) return;
          for (const each of [...(this.#listeners.get(channel) ?? [])]) each(message);
        }),
      );
    }
  }

  // -------- what it is asked for

  /** A client that was just made knows nothing of the server's clock. */
  clockAt: () => ClockReading | null = () => null;

  masterOf(): string | null {
    return this.state === "connected" && !this.#shardGone ? this.#runId : null;
  }

  slotOf(): null {
    return null;
  }

  subscribe(channel: string, _kind: "plain" | "redisson", listener: (message: string) => void): Subscription {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners);
    const own = (message: string): void => listener(message);
    listeners.add(own);
    const line = this;
    return {
      get live() {
        return line.#subscribed && !line.closed;
      },
      get ready() {
        return line.#heard;
      },
      end: () => listeners.delete(own),
    };
  }

  onRenewed(listener: (what: LineNotice) => void): () => void {
    this.#renewed.add(listener);
    return () => this.#renewed.delete(listener);
  }

  onBroken(listener: () => void): () => void {
    this.#brokenListeners.add(listener);
    return () => this.#brokenListeners.delete(listener);
  }

  whenConnected({ waitMs }: { waitMs: Millis }): Promise<void> {
    if (this.state === "connected") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const cancel = this.#client.setTimer(waitMs, () => {
        this.#waiting.delete(connected);
        reject(new NotSentError("no connection", { servers }));
      });
      const connected = (): void => {
        cancel();
        resolve();
      };
      this.#waiting.add(connected);
    });
  }

  async run<R>(
    script: Script<R>,
    keys: readonly string[],
    args: ScriptArgs,
    { wait }: RunOptions = {},
  ): Promise<Answer<R>> {
    return this.#noteHeard(await this.#send(script, keys, args.flat(), wait?.replicas ?? 0));
  }

  runAll<R>(script: Script<R>, runs: readonly ScriptCall[]): readonly Promise<Answer<R> | Error>[] {
    return runs.map(({ keys, args }) =>
      this.#send(script, keys, args.flat(), 0).then(
        (heard) => this.#noteHeard(heard),
        (error: Error) => error,
      ),
    );
  }

  async close(): Promise<void> {
    this.closed = true;
    this.#listeners.clear();
    this.state = "suspended";
    for (const each of [...this.#flying]) each.breakOff();
  }

  #noteHeard<R>(heard: Executed<R>): Answer<R> {
    const { executedMs, ...answer } = heard;
    const before = this.#lastHeard;
    if (before !== null && executedMs > this.#disturbedMs) {
      const tookMs = heard.answeredMs - heard.sentMs + before.answeredMs - before.sentMs;
      const slackMs = 2 + 0.02 * Math.abs(heard.answeredMs - before.sentMs);
      if (tookMs + slackMs < Math.abs(this.hiddenMs)) this.hiddenMs = 0;
    }
    this.#lastHeard = heard;
    this.heardMs = Math.max(this.heardMs, executedMs);
    return answer;
  }

  #set(state: SessionState): void {
    this.state = state;
    this.#client.setTimer(0, () => this.onState(this.state));
  }

  async #send<R>(
    script: Script<R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    replicas: number,
  ): Promise<Executed<R>> {
    if (this.closed) throw new ProviderClosedError("closed", { backend: "redis" });
    if (this.state !== "connected") throw new NotSentError("no connection", { servers });
    return await this.#fly(script, keys, args, replicas);
  }

  #fly<R>(
    script: Script<R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    replicas: number,
  ): Promise<Executed<R>> {
    // Only scripts that change something have a model. A look from outside is refused, as missing rights may cause it.
    if (script.name.endsWith("-inspect"))
      return Promise.reject(new ReplyError("NOPERM no model of this script", { servers }));
    const world = this.#world;
    const sentMs = this.#client.nowMs();
    const master = this.#runId;
    const leftMs = world.nowMs();
    const arriveMs = this.#due("requests", leftMs + this.weather.delayMs());
    return new Promise((resolve, reject) => {
      const cancelTimeout = this.#client.setTimer(commandTimeoutMs, () => fail("no answer in time"));
      let settled = false;
      let broken = false;
      const fail = (why: string): void => {
        if (settled) return;
        settled = true;
        cancelTimeout();
        this.#flying.delete(flying);
        this.#client.setTimer(0, () => reject(new OutcomeUnknownError(why, { servers })));
      };
      const flying: Flying = {
        breakOff: () => {
          broken = true;
          fail("the connection broke");
        },
      };
      this.#flying.add(flying);
      const execute = (): void => {
        // A request for a replaced master has no effect on the present one.
        if (master !== this.#redis.runId) return;
        const executedMs = world.nowMs();
        const refusal = this.weather.refuses(script.name);
        const reply = refusal === null ? this.#redis.execute(script.name, keys, args) : null;
        const acknowledged = replicas > 0 && this.#redis.replicating ? replicas : 0;
        if (replicas > 0) this.#redis.replicate();
        const backMs = this.#due("replies", world.nowMs() + this.weather.delayMs());
        world.setTimer(backMs - world.nowMs(), () =>
          this.#client.setTimer(0, () => {
            if (settled) return;
            settled = true;
            cancelTimeout();
            this.#flying.delete(flying);
            if (refusal !== null) {
              reject(new ReplyError(refusal, { servers }));
              this.#refused(refusal);
              return;
            }
            const answeredMs = this.#client.nowMs();
            const count = replicas > 0 ? acknowledged : null;
            resolve({
              reply: reply as R,
              sentMs,
              answeredMs,
              runId: master,
              acknowledged: count,
              executedMs,
            });
          }),
        );
      };
      world.setTimer(arriveMs - leftMs, () => {
        if (!broken) {
          execute();
          return;
        }
        const strayMs = this.weather.strayMs();
        if (strayMs !== null) world.setTimer(strayMs, execute);
      });
    });
  }

  /** Does what the real line does when a server says that it is a replica: the next request must not go there. */
  #refused(refusal: string): void {
    if (refusalKind(refusal) !== "not-master") return;
    this.cut();
    this.#client.setTimer(redialMs, () => this.mend());
  }

  /** Keeps the order in which requests were sent, unless one is an exception. */
  #due(way: "requests" | "replies", wantedMs: Millis): Millis {
    if (this.weather.reorders()) return wantedMs + this.weather.delayMs();
    if (way === "requests") {
      this.#requestsDueMs = Math.max(this.#requestsDueMs + apartMs, wantedMs);
      return this.#requestsDueMs;
    }
    this.#repliesDueMs = Math.max(this.#repliesDueMs + apartMs, wantedMs);
    return this.#repliesDueMs;
  }
}
