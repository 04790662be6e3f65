import type { LockHandle, Millis, Mutex, ProviderOptions, Runtime } from "@holdfast/core";
import { fullJitterRetry } from "@holdfast/core";
import { EventHub, resolveProviderOptions } from "@holdfast/core/internal";
import type { SimulatedRuntime } from "@holdfast/core/testing";
import { RedisDriver } from "../../src/provider/driver.js";
import { RedisProvider } from "../../src/provider/redis-locks.js";
import { RedisClientState } from "../../src/recipes/attempts/client-state.js";
import type { RecipeSettings } from "../../src/recipes/requests/settings.js";
import { SimulatedLine, type Weather } from "./simulated-line.js";
import type { SimulatedRedis } from "./simulated-redis.js";

export const settings: RecipeSettings = {
  leaseMs: 30_000,
  replicas: 0,
  acks: 0,
  waitTimeoutMs: 1_000,
  commandTimeoutMs: 1_000,
  tokenTtlMs: 0,
  javaPeers: true,
  heartbeatMs: 1_000,
  aliveMs: 3_500,
  claimLeaseMs: 3_000,
  maxDirectRun: 8,
  fairLockWaitTimeoutMs: 300_000,
  db: 0,
  keeps: false,
  keepAskMs: 50,
};

/** A process of ours on a simulated Redis, with the real core, driver and recipes. */
export class SimulatedClient {
  readonly runtime: Runtime;
  readonly line: SimulatedLine;
  readonly state: RedisClientState;
  readonly driver: RedisDriver;
  readonly provider: RedisProvider;
  crashed = false;
  readonly #world: SimulatedRuntime;
  #pausedUntilMs: Millis = 0;
  #closing: Promise<unknown> | undefined;

  constructor(
    redis: SimulatedRedis,
    weather: Weather,
    override: Partial<RecipeSettings> = {},
    keeping: Pick<ProviderOptions, "keepMs" | "maxKeepMs" | "fenceBy" | "retry"> = {},
  ) {
    this.#world = redis.runtime;
    this.runtime = this.#ownRuntime();
    const { runtime } = this;
    this.line = new SimulatedLine(redis, runtime, weather);
    const id = runtime.randomId();
    const events = new EventHub({ provider: id, backend: "redis", runtime });
    this.state = new RedisClientState({
      line: this.line,
      runtime,
      settings: { ...settings, keeps: (keeping.keepMs ?? 0) > 0, ...override },
      onUnknownGrant: (grant) => events.emit("unknown-grant", grant),
    });
    this.driver = new RedisDriver(this.state, { keyPrefix: "", cluster: false, closeWaitMs: 100 });
    this.line.onState = (state) => {
      this.state.stateChanged(state);
      events.emit("session-state", { state, timeoutMs: 0, cluster: "simulated" });
    };
    const given = {
      runtime,
      connectTimeoutMs: 60_000,
      retry: fullJitterRetry({ random: () => runtime.random() }),
      ...keeping,
    };
    const options = resolveProviderOptions("simulated", given, [], { keeps: true });
    const parts = {
      driver: this.driver,
      link: this.line,
      events,
      options,
      defaultLeaseMs: override.leaseMs ?? settings.leaseMs,
    };
    this.provider = new RedisProvider(parts, this.state, this.driver);
  }

  mutex(name: string): Mutex {
    return this.provider.mutex(name);
  }

  fairMutex(name: string): Mutex {
    return this.provider.fairMutex(name);
  }

  /** The holds that the client would call valid if asked now. */
  get valid(): readonly LockHandle[] {
    return this.crashed ? [] : this.provider.holds().filter((handle) => handle.remainingMs() > 0);
  }

  /** No timer of the process runs for `forMs`, while time goes on. */
  pause(forMs: Millis): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#world.nowMs() + forMs);
  }

  get paused(): boolean {
    return this.#world.nowMs() < this.#pausedUntilMs;
  }

  /** Neither crashed nor closed. */
  get alive(): boolean {
    return !this.crashed && this.#closing === undefined;
  }

  /** Closes in an orderly way. */
  async close(): Promise<void> {
    this.#closing ??= this.provider.close();
    await this.#closing;
  }

  crash(): void {
    this.crashed = true;
    void this.line.close();
  }

  pass(forMs: Millis): Promise<void> {
    return new Promise((resolve) => this.runtime.setTimer(forMs, resolve));
  }

  #ownRuntime(): Runtime {
    const world = this.#world;
    return {
      nowMs: () => world.nowMs(),
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
        cancel = world.setTimer(delayMs, ring);
        return () => cancel();
      },
    };
  }
}
