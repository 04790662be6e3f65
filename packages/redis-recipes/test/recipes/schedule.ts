import {
  AcquireTimeoutError,
  BackendError,
  type LockHandle,
  LockLostError,
  type Millis,
} from "@holdfast/core";
import { type SimulatedRuntime, seededRandom, simulatedRuntime } from "@holdfast/core/testing";
import { redissonChannels } from "../../src/layout/channels.js";
import { mutexKeys } from "../../src/layout/keys.js";
import { SimulatedClient } from "./simulated-client.js";
import { calm, type Weather } from "./simulated-line.js";
import { SimulatedRedis } from "./simulated-redis.js";

const lockName = "orders";
const javaOwner = "aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa:57";

/** What one schedule has met; the sums show that a run of thousands has met everything. */
export interface Figures {
  grants: number;
  notified: number;
  requeued: number;
  keptByReplica: number;
  timeouts: number;
  losses: number;
  crashes: number;
  pauses: number;
  cuts: number;
  failovers: number;
  steps: number;
  javaGrants: number;
  maybeTwoHolders: number;
}

export const noFigures = (): Figures => ({
  grants: 0,
  notified: 0,
  requeued: 0,
  keptByReplica: 0,
  timeouts: 0,
  losses: 0,
  crashes: 0,
  pauses: 0,
  cuts: 0,
  failovers: 0,
  steps: 0,
  javaGrants: 0,
  maybeTwoHolders: 0,
});

/** Clients of ours and a Java one contend, while chance does to them what it can. Throws where a rule is broken. */
export class Schedule {
  readonly figures = noFigures();
  readonly #seed: number;
  readonly #random: () => number;
  readonly #runtime: SimulatedRuntime;
  readonly #redis: SimulatedRedis;
  readonly #clients: SimulatedClient[] = [];
  readonly #acks: number;
  readonly #mayDisturb: boolean;
  readonly #lossy: boolean;
  /** Since when the backend itself may have let go of what it had confirmed. */
  #disturbedMs: Millis = -Infinity;
  /** A clock that was set back lets everything at the server live that much longer. */
  #backMs: Millis = 0;
  #ending = false;
  /** Workers by their client; those of a crashed one never end. */
  readonly #working = new Map<SimulatedClient, number>();
  #failure: unknown;
  #highest = 0n;
  readonly #log: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed ^ 0x5f3759df);
    this.#runtime = simulatedRuntime(seed);
    this.#redis = new SimulatedRedis(this.#runtime);
    this.#redis.onPublish = (channel, message) => {
      for (const { line } of this.#clients) line.publish(channel, message);
    };
    this.#acks = this.#chance(0.2) ? 1 : 0;
    this.#mayDisturb = this.#chance(0.5);
    this.#lossy = this.#chance(0.8);
    const leaseMs = this.#of([4_000, 10_000, 30_000]);
    const count = 2 + this.#below(3);
    for (let each = 0; each < count; each++) {
      this.#clients.push(
        new SimulatedClient(this.#redis, this.#weather(), {
          leaseMs,
          acks: this.#acks,
          replicas: 1,
          maxDirectRun: this.#of([1, 2, 8]),
          javaPeers: this.#chance(0.7),
        }),
      );
    }
  }

  async run(): Promise<Figures> {
    const endMs = this.#runtime.nowMs() + 10_000 + this.#below(20_000);
    for (const client of this.#clients) {
      client.provider.events.on("notified", () => this.figures.notified++);
      client.provider.events.on("requeued", () => this.figures.requeued++);
      for (let worker = 1 + this.#below(3); worker > 0; worker--) {
        this.#work(client).catch((error: unknown) => {
          this.#failure ??= error;
        });
      }
    }
    if (this.#chance(0.5)) this.#java();
    this.#chaos();
    this.#replicate();
    while (this.#runtime.nowMs() < endMs) await this.#step();
    await this.#end();
    return this.figures;
  }

  // -------- what must be true at every instant

  #check(): void {
    // Nobody has been told of a failover, or of a stepped clock, before the next answer: until then tokens alone protect.
    const counted = this.#clients.flatMap((client) =>
      client.valid
        .filter(
          (handle) =>
            this.#disturbedMs === -Infinity ||
            (handle.state === "held" && client.line.heardMs > this.#disturbedMs && !client.paused),
        )
        .map((handle) => ({ client, handle })),
    );
    const all = this.#clients.reduce((sum, client) => sum + client.valid.length, 0);
    if (all > 1 && counted.length <= 1) this.figures.maybeTwoHolders++;
    if (counted.length > 1) this.#broken(`${counted.length} holders at once`);
    const [holder] = counted;
    if (holder === undefined) return;
    const atServer = this.#redis.holderOf(lockName) ?? "nobody";
    if (!atServer.startsWith(`${holder.client.desk.uuid}:`)) {
      this.#broken(
        `client ${this.#clients.indexOf(holder.client)} relies on a hold, the server has ${atServer}`,
      );
    }
  }

  #granted(client: SimulatedClient, handle: LockHandle): void {
    this.figures.grants++;
    const { token } = handle;
    this.#say(`client ${this.#clients.indexOf(client)} granted ${token}, for ${handle.remainingMs()} ms`);
    // After a step or a failover an answer that was on its way may tell of a hold that is none any more: see `#check`.
    if (token === null) this.#broken("a grant without a token");
    else if (token > this.#highest) this.#highest = token;
    else if (this.#disturbedMs === -Infinity) this.#broken(`token ${token} after ${this.#highest}`);
  }

  #broken(what: string): never {
    const story = this.#log.slice(-60).join("\n");
    throw new Error(`seed ${this.#seed}, at ${this.#runtime.nowMs()} ms: ${what}\n${story}`);
  }

  // -------- who contends

  async #work(client: SimulatedClient): Promise<void> {
    this.#working.set(client, (this.#working.get(client) ?? 0) + 1);
    const lock = client.mutex(lockName);
    while (!this.#ending) {
      await client.pass(this.#below(this.#of([5, 300, 3_000])));
      if (this.#ending) break;
      const waitMs = this.#of([Infinity, Infinity, this.#below(6_000), 0]);
      let handle: LockHandle;
      try {
        handle = await lock.acquire({ waitMs, renew: this.#chance(0.8) });
      } catch (error) {
        if (!(error instanceof AcquireTimeoutError || error instanceof BackendError)) throw error;
        this.figures.timeouts++;
        continue;
      }
      this.#granted(client, handle);
      await client.pass(this.#below(this.#of([5, 400, 8_000])));
      if (this.#chance(0.1)) {
        await handle.confirm().catch((error: unknown) => {
          if (!(error instanceof LockLostError || error instanceof BackendError)) throw error;
        });
      }
      const outcome = await handle.release();
      this.#say(`client ${this.#clients.indexOf(client)} released ${handle.token}: ${outcome}`);
      if (outcome === "lost") this.figures.losses++;
    }
    this.#working.set(client, (this.#working.get(client) ?? 0) - 1);
  }

  /** Takes what is free, as Redisson does, and publishes when it lets go. */
  #java(): void {
    const again = (): void => {
      this.#runtime.setTimer(50 + this.#below(3_000), take);
    };
    const take = (): void => {
      if (this.#ending) return;
      const { space } = this.#redis;
      space.at(this.#redis.nowUs);
      if (space.type(lockName) !== "none") {
        again();
        return;
      }
      space.hset(lockName, javaOwner, "1");
      space.expire(lockName, 30_000);
      this.figures.javaGrants++;
      this.#runtime.setTimer(this.#below(1_000), () => {
        this.#redis.space.at(this.#redis.nowUs);
        if (this.#redis.holderOf(lockName) === javaOwner) {
          this.#redis.space.del(lockName);
          this.#redis.onPublish(redissonChannels.mutex(lockName), "0");
        }
        again();
      });
    };
    again();
  }

  // -------- what happens to them

  #weather(): Weather {
    if (!this.#lossy) return { ...calm, delayMs: () => this.#below(20) };
    const slow = () => (this.#chance(0.03) ? this.#below(2_500) : this.#below(30));
    return {
      delayMs: slow,
      strayMs: () => (this.#chance(0.5) ? this.#below(4_000) : null),
      reorders: () => this.#chance(0.02),
      message: () => {
        if (this.#chance(0.15)) return [];
        const first = this.#chance(0.1) ? this.#below(6_000) : this.#below(30);
        return this.#chance(0.1) ? [first, first + this.#below(6_000)] : [first];
      },
    };
  }

  #chaos(): void {
    this.#runtime.setTimer(this.#below(4_000), () => {
      if (this.#ending) return;
      this.#disaster();
      this.#chaos();
    });
  }

  /** A replica lags behind by some moments. */
  #replicate(): void {
    this.#runtime.setTimer(this.#below(300), () => {
      if (this.#ending) return;
      this.#redis.replicate();
      this.#replicate();
    });
  }

  #disaster(): void {
    const client = this.#of(this.#clients);
    const who = `client ${this.#clients.indexOf(client)}`;
    const alive = this.#clients.filter((each) => !each.crashed).length;
    switch (this.#below(9)) {
      case 0:
        if (alive < 2) return;
        this.#say(`${who} crashes`);
        this.figures.crashes++;
        client.crash();
        return;
      case 1:
      case 2: {
        const forMs = this.#below(this.#of([500, 6_000, 40_000]));
        this.#say(`${who} stops for ${forMs} ms`);
        this.figures.pauses++;
        client.pause(forMs);
        return;
      }
      case 3:
      case 4:
      case 5:
        this.#say(`${who} loses its connection`);
        this.figures.cuts++;
        this.#cut(client);
        return;
      case 6:
        client.line.cutSubscriptions();
        this.#runtime.setTimer(this.#below(3_000), () =>
          client.runtime.setTimer(0, () => client.line.mend()),
        );
        return;
      case 7:
        if (!this.#mayDisturb) return;
        this.#stepClock();
        return;
      default:
        if (this.#mayDisturb) this.#failOver();
    }
  }

  #stepClock(): void {
    const byMs = (this.#chance(0.5) ? 1 : -1) * this.#below(this.#of([50, 5_000, 60_000]));
    this.#say(`the server's clock is set by ${byMs} ms`);
    this.figures.steps++;
    this.#redis.offsetMs += byMs;
    this.#backMs += Math.max(0, -byMs);
    this.#disturbedMs = this.#runtime.nowMs();
  }

  #failOver(): void {
    this.#say("another master");
    this.figures.failovers++;
    const before = this.#clients.flatMap((client) => client.valid.map((handle) => ({ client, handle })));
    this.#redis.failOver(this.#below(200) - 100);
    for (const { client, handle } of this.#acks > 0 && this.#disturbedMs === -Infinity ? before : []) {
      // What has been granted with the replica's word must outlast the master.
      this.figures.keptByReplica++;
      if (this.#redis.holderOf(lockName)?.startsWith(client.desk.uuid) === true) continue;
      this.#broken(`the replica had acknowledged ${handle.token} and does not know it`);
    }
    this.#disturbedMs = this.#runtime.nowMs();
    for (const client of this.#clients) this.#cut(client);
  }

  #cut(client: SimulatedClient): void {
    client.line.cut();
    if (this.#chance(0.5)) client.line.cutSubscriptions();
    this.#runtime.setTimer(this.#below(this.#of([100, 5_000])), () =>
      client.runtime.setTimer(0, () => client.line.mend()),
    );
  }

  // -------- the end: all is well again, so everybody has to come to an end

  async #end(): Promise<void> {
    this.#ending = true;
    this.#say("all is well again");
    const alive = this.#clients.filter((client) => !client.crashed);
    for (const client of alive) {
      client.line.weather = calm;
      client.runtime.setTimer(0, () => client.line.mend());
    }
    const until = this.#runtime.nowMs() + 150_000 + this.#backMs;
    const working = (): boolean => alive.some((client) => this.#working.get(client) !== 0);
    while (working()) {
      const happened = await this.#step();
      if (working() && (!happened || this.#runtime.nowMs() > until)) this.#broken("somebody is stuck");
    }
    let closed = false;
    void Promise.all(alive.map((client) => client.provider.close())).then(() => {
      closed = true;
    });
    while (!closed && (await this.#step()));
    await this.#runtime.advance(60_000 + this.#backMs);
    const { space } = this.#redis;
    space.at(this.#redis.nowUs);
    const left = [mutexKeys(lockName).lock, mutexKeys(lockName).waiters].filter(
      (key) => space.type(key) !== "none",
    );
    if (left.length > 0) this.#broken(`left behind: ${left.join(", ")}`);
  }

  /** `false`: nothing is left to happen. */
  async #step(): Promise<boolean> {
    const happened = await this.#runtime.step();
    if (this.#failure !== undefined) throw this.#failure;
    this.#check();
    return happened;
  }

  #say(what: string): void {
    this.#log.push(`${this.#runtime.nowMs().toFixed(0)}: ${what}`);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  #of<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)] as T;
  }
}
