import { AcquireTimeoutError, type LockHandle, type Millis } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { Chance } from "./chance.js";
import {
  type Contended,
  contendedElection,
  contendedMutex,
  contendedReadWriteLock,
  javaOwner,
} from "./contended.js";
import { Disasters } from "./disasters.js";
import { noFigures } from "./figures.js";
import { Oracle } from "./oracle.js";
import { passingError } from "./passing-error.js";
import { SimulatedClient } from "./simulated-client.js";
import { calm } from "./simulated-line.js";
import { SimulatedRedis } from "./simulated-redis.js";
import { badWeather, fairWeather, refusing } from "./weather.js";

/** The longest rest between two tries of one acquire, by the default policy. */
const longestRestMs: Millis = 2_000;

/** Clients of ours and a Java client contend for a lock under random faults. Throws where a rule is broken. */
export class Schedule {
  readonly figures = noFigures();
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #runtime: SimulatedRuntime;
  readonly #redis: SimulatedRedis;
  readonly #lock: Contended;
  readonly #clients: SimulatedClient[] = [];
  readonly #oracle: Oracle;
  readonly #disasters: Disasters;
  /** Nothing happens but passing refusals. Then no call may fail, and no hold may be lost. */
  readonly #onlyRefused: boolean;
  #ending = false;
  /** The number of workers of each client. Those of a crashed client never end. */
  readonly #working = new Map<SimulatedClient, number>();
  #failure: unknown;
  readonly #log: string[] = [];
  /** The client that asks far more often than the others and keeps the lock. `null`: no client keeps locks. */
  #keeper: SimulatedClient | null = null;

  /** `keeping`: all clients keep locks for their next owners, and one of them asks far more often than the others. */
  constructor(seed: number, { keeping = false } = {}) {
    this.#seed = seed;
    const chance = new Chance(seed ^ 0x5f3759df);
    this.#chance = chance;
    this.#runtime = simulatedRuntime(seed);
    this.#redis = new SimulatedRedis(this.#runtime);
    this.#redis.onPublish = (channel, message) => {
      for (const { line } of this.#clients) line.publish(channel, message);
    };
    // The drift is up to half of what is tolerated, in either direction.
    this.#redis.drift = (chance.below(1_001) - 500) / 100_000;
    this.#lock = chance.of(0.55)
      ? contendedMutex
      : keeping || chance.of(0.65)
        ? contendedReadWriteLock
        : contendedElection;
    const acks = chance.of(0.25) ? 1 : 0;
    const share = chance.one([0, 0, 0.02, 0.1, 0.3]);
    this.#onlyRefused = share > 0 && chance.of(0.5);
    const lossy = !this.#onlyRefused && chance.of(0.8);
    const leaseMs = chance.one([4_000, 10_000, 30_000]);
    const count = 2 + chance.below(3);
    for (let each = 0; each < count; each++) {
      const refuses = refusing(chance, share, (script) => this.#refused(script));
      const weather = { ...(lossy ? badWeather(chance) : fairWeather(chance)), refuses };
      const own = {
        leaseMs,
        acks,
        replicas: 1,
        maxDirectRun: chance.one([1, 2, 8]),
        javaPeers: chance.of(0.7),
      };
      const kept = keeping
        ? { keepMs: chance.one([300, 1_300, 5_000]), maxKeepMs: chance.one([1_000, 20_000]) }
        : {};
      this.#clients.push(new SimulatedClient(this.#redis, weather, own, kept));
    }
    if (keeping) this.#keeper = this.#clients[0] ?? null;
    const broken = (what: string): never => this.#broken(what);
    const { figures } = this;
    this.#oracle = new Oracle(this.#lock, this.#redis, this.#clients, figures, broken);
    this.#disasters = new Disasters({
      lock: this.#lock,
      redis: this.#redis,
      clients: this.#clients,
      chance,
      oracle: this.#oracle,
      figures,
      acks,
      failed: (error) => this.#failed(error),
      say: (what) => this.#say(what),
      broken,
    });
    if (this.#lock === contendedMutex) figures.mutexes++;
    else if (this.#lock === contendedElection) figures.elections++;
    else figures.readWriteLocks++;
    if (acks > 0) figures.acknowledged++;
    if (this.#onlyRefused) figures.onlyRefused++;
  }

  async run(): Promise<typeof this.figures> {
    const endMs = this.#runtime.nowMs() + 10_000 + this.#chance.below(20_000);
    for (const client of this.#clients) {
      const { events } = client.provider;
      events.on("notified", () => this.figures.notified++);
      events.on("requeued", () => this.figures.requeued++);
      events.on("acquire-settled", ({ kept }) => {
        if (kept) this.figures.lent++;
      });
      events.on("keeping-ended", ({ reason }) => {
        if (reason === "wanted") this.figures.keptUntilWish++;
        if (reason === "lost") this.figures.keptUntilLost++;
      });
      events.on("unknown-grant", ({ owner }) => this.#failed(new Error(`a grant for ${owner}, never known`)));
      for (let worker = 1 + this.#chance.below(3); worker > 0; worker--) {
        this.#work(client).catch((error: unknown) => this.#failed(error));
      }
    }
    if (this.#chance.of(0.5)) this.#java();
    if (!this.#onlyRefused) this.#disasters.start();
    while (this.#runtime.nowMs() < endMs) await this.#step();
    await this.#end();
    return this.figures;
  }

  // -------- who contends

  async #work(client: SimulatedClient): Promise<void> {
    const chance = this.#chance;
    this.#working.set(client, (this.#working.get(client) ?? 0) + 1);
    const keeper = this.#keeper;
    const isKeeper = client === keeper;
    const restsMs = keeper === null ? [5, 300, 3_000] : isKeeper ? [1, 10, 300] : [300, 6_000, 12_000];
    const holdsMs = keeper === null ? [5, 400, 8_000] : isKeeper ? [1, 20, 1_500] : [5, 400];
    while (!this.#ending && client.alive) {
      await client.pass(chance.below(chance.one(restsMs)));
      if (this.#ending || !client.alive) break;
      const floor = this.#oracle.floorOf(client);
      const lasting = chance.of(isKeeper ? 0.98 : 0.8);
      const handle = await this.#acquire(client, lasting);
      if (handle === null) continue;
      this.figures.grants++;
      if (handle.mode === "shared") this.figures.reads++;
      this.#say(`${this.#nameOf(client)} granted ${handle.token}, for ${handle.remainingMs()} ms`);
      this.#oracle.granted(client, handle, floor);
      await client.pass(chance.below(chance.one(holdsMs)));
      if (chance.of(0.1)) {
        // A confirm asks only once. If it is refused, the hold must not suffer.
        await handle.confirm().catch((error: unknown) => {
          if (!passingError(error)) throw error;
        });
      }
      const outcome = await handle.release();
      this.#say(`${this.#nameOf(client)} released ${handle.token}: ${outcome}`);
      if (outcome === "lost") this.figures.losses++;
      if (this.#onlyRefused && lasting && !["released", "kept"].includes(outcome))
        this.#broken(`a release was ${outcome}`);
    }
    this.#working.set(client, (this.#working.get(client) ?? 0) - 1);
  }

  /** Resolves to `null` when the lock was not granted for an expected reason. */
  async #acquire(client: SimulatedClient, renew: boolean): Promise<LockHandle | null> {
    const chance = this.#chance;
    const waitMs = chance.one([Infinity, Infinity, chance.below(6_000), 0]);
    const startedMs = this.#runtime.nowMs();
    const enough = new Error("enough");
    const abort = new AbortController();
    const cancelAbort = chance.of(0.2)
      ? client.runtime.setTimer(chance.below(chance.one([60, 4_000])), () => abort.abort(enough))
      : () => {};
    const { read } = this.#lock;
    const readsShare = client === this.#keeper ? 0.03 : 0.35;
    const ask = read !== undefined && chance.of(readsShare) ? read : this.#lock.acquire;
    try {
      return await ask(client, { waitMs, renew, signal: abort.signal });
    } catch (error) {
      const leftMs = startedMs + waitMs - this.#runtime.nowMs();
      // No try begins after the limit, so a failure is allowed near it. A `waitMs` of 0 asks only once.
      if (this.#onlyRefused && waitMs > 0 && leftMs > longestRestMs && error !== enough)
        this.#broken(`an acquire with ${leftMs} ms to go failed by ${error}`);
      if (error === enough) this.figures.aborts++;
      else if (error instanceof AcquireTimeoutError) this.figures.timeouts++;
      else if (passingError(error)) this.figures.failures++;
      else throw error;
      return null;
    } finally {
      cancelAbort();
    }
  }

  /**
   * As Redisson does, takes the lock when it is free, listens to its channel while it waits, and publishes when it releases. A
   * JVM that is woken comes later than a heartbeat of ours.
   */
  #java(): void {
    const { java, keys } = this.#lock;
    if (java === null) return;
    const fields = Object.entries(java.fields);
    const mark = fields.at(-1)?.[0] as string;
    let takenMs: Millis = 0;
    let cancel = (): void => {};
    const listen = (count: number): void => {
      this.#redis.space.listeners.set(java.channel, count);
    };
    const comeIn = (delayMs: Millis): void => {
      cancel();
      cancel = this.#runtime.setTimer(delayMs, take);
    };
    const take = (): void => {
      listen(0);
      if (this.#ending) return;
      const space = this.#redis.now;
      if (space.type(keys.lock) !== "none") {
        listen(1);
        comeIn(50 + this.#chance.below(3_000));
        return;
      }
      for (const [field, value] of fields) space.hset(keys.lock, field, value);
      space.expire(keys.lock, 30_000);
      takenMs = this.#runtime.nowMs();
      this.figures.javaGrants++;
      cancel = this.#runtime.setTimer(this.#chance.below(1_000), letGo);
    };
    const letGo = (): void => {
      if (this.#redis.fieldsOf(keys.lock).includes(mark)) {
        this.#redis.now.del(keys.lock);
        this.#redis.onPublish(java.channel, java.message);
      } else if (!this.#oracle.disturbed && !this.#oracle.wasRobbed(javaOwner)) {
        this.#broken(`what Java took at ${takenMs} ms was taken from it`);
      }
      comeIn(50 + this.#chance.below(3_000));
    };
    const { onPublish } = this.#redis;
    this.#redis.onPublish = (channel, message) => {
      onPublish(channel, message);
      if (channel !== java.channel || this.#redis.space.listeners.get(channel) !== 1) return;
      this.figures.javaWoken++;
      comeIn(this.#chance.below(40));
    };
    comeIn(this.#chance.below(3_000));
  }

  // -------- the end: all is well again, so every client has to come to an end

  async #end(): Promise<void> {
    this.#ending = true;
    this.#disasters.stop();
    this.#say("all is well again");
    const alive = this.#clients.filter((client) => client.alive);
    for (const client of this.#clients) {
      client.line.weather = calm;
      client.runtime.setTimer(0, () => client.line.mend());
    }
    const { backMs } = this.#disasters;
    const until = this.#runtime.nowMs() + 150_000 + backMs;
    const working = (): boolean => alive.some((client) => this.#working.get(client) !== 0);
    while (working()) {
      const happened = await this.#step();
      if (working() && (!happened || this.#runtime.nowMs() > until)) this.#broken("somebody is stuck");
    }
    // A call that gave up settles before its request has been taken back.
    for (const client of alive) {
      while (this.#leftOf(client) !== null && this.#runtime.nowMs() <= until && (await this.#step()));
      const left = this.#leftOf(client);
      if (left !== null) this.#broken(`${this.#nameOf(client)} ${left}`);
    }
    let closed = false;
    void Promise.all(alive.map((client) => client.close())).then(() => {
      closed = true;
    });
    while (!closed && (await this.#step()));
    await this.#runtime.advance(60_000 + backMs);
    const { keys } = this.#lock;
    const left = [...this.#redis.now.keys.keys()].filter((key) => key !== keys.token);
    if (left.length > 0) this.#broken(`left behind: ${left.join(", ")}`);
  }

  /** What a process that neither waits nor holds still has. `null`: nothing. */
  #leftOf({ state, provider, line }: SimulatedClient): string | null {
    const found = { waits: state.waits.size, holds: provider.holds().length };
    if (found.waits + found.holds > 0) return `has in its books: ${JSON.stringify(found)}`;
    if (this.#lock.java !== null && line.listensTo(this.#lock.java.channel)) return "still listens to Java";
    return null;
  }

  /** Returns `false` when nothing is left to happen. */
  async #step(): Promise<boolean> {
    const happened = await this.#runtime.step();
    if (this.#failure !== undefined) throw this.#failure;
    this.#oracle.check();
    return happened;
  }

  #refused(script: string): void {
    this.figures.refusals++;
    if (script.endsWith("renew")) this.figures.refusedRenewals++;
    this.#say(`${script} is refused`);
  }

  #failed(error: unknown): void {
    this.#failure ??= error;
  }

  #broken(what: string): never {
    const story = this.#log.slice(-60).join("\n");
    throw new Error(
      `seed ${this.#seed}, ${this.#lock.kind}, at ${this.#runtime.nowMs()} ms: ${what}\n${story}`,
    );
  }

  #nameOf(client: SimulatedClient): string {
    return `client ${this.#clients.indexOf(client)}`;
  }

  #say(what: string): void {
    this.#log.push(`${this.#runtime.nowMs().toFixed(0)}: ${what}`);
  }
}
