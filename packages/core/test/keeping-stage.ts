import type { Acquirable, LockHandle, LockViewOptions, Mutex, ProviderOptions } from "@holdfast/core";
import type { GrantPlace, GrantState, KeepingState, LockDriver } from "@holdfast/core/driver";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { type Scripted, ScriptedGrant, type ScriptedRequest, scripted } from "./scripted-driver.js";

/** A grant of which the test decides everything, also whether it may be kept and lent. */
export class KeepableGrant extends ScriptedGrant {
  place: GrantPlace | undefined;
  keeps = true;
  may: "yes" | "soon" | "no" = "yes";
  /** How often core has asked whether the lock may be kept. */
  asked = 0;
  #state: KeepingState | undefined;

  override entered(state: GrantState): void {
    this.#state = state as KeepingState;
    super.entered(state);
  }

  get state(): KeepingState {
    if (this.#state === undefined) throw new Error("core has not got this grant");
    return this.#state;
  }

  keep(): boolean {
    this.asked++;
    return this.keeps;
  }

  mayLend(): "yes" | "soon" | "no" {
    return this.may;
  }
}

/** A keepable grant that draws a new token for each owner it is lent to. */
export class DrawingGrant extends KeepableGrant {
  lend(): bigint {
    this.token = (this.token ?? 0n) + 1n;
    return this.token;
  }
}

/** One provider that keeps locks, over a scripted backend. */
export class KeepingStage {
  readonly runtime: SimulatedRuntime;
  readonly made: Scripted;
  #count = 0;
  #answered = 0;
  readonly #last = new Map<string, string>();

  constructor(
    options: ProviderOptions = {},
    lease: "session" | "ttl" = "session",
    driver: Partial<LockDriver> = {},
  ) {
    this.runtime = simulatedRuntime(17);
    const ours = { keeps: true, ...driver };
    this.made = scripted(this.runtime, lease, { keepMs: 1_000, ...options, driver: ours });
  }

  get provider(): Scripted["provider"] {
    return this.made.provider;
  }

  /** How many requests have reached the backend. */
  get requests(): number {
    return this.made.requests.length;
  }

  mutex(name = "a", options?: LockViewOptions): Mutex {
    return this.provider.mutex(name, options);
  }

  /** Waits for rest, then returns the requests that the backend has got since the last call. */
  async newRequests(): Promise<ScriptedRequest[]> {
    await this.rest();
    const fresh = this.made.requests.slice(this.#answered);
    this.#answered = this.made.requests.length;
    return fresh;
  }

  /** Waits until everything that goes on by itself has come to rest. */
  async rest(): Promise<void> {
    await this.runtime.advance(0);
  }

  /** Grants the only new request. `follows`: no other client had the lock since our last grant of it. */
  async grant({ follows = true, contended = false, draws = false } = {}): Promise<KeepableGrant> {
    const [request, ...more] = await this.newRequests();
    if (request === undefined || more.length > 0) throw new Error("there is not exactly one new request");
    const grant = new (draws ? DrawingGrant : KeepableGrant)(1e9);
    const { name } = request.request;
    const number = ++this.#count;
    const before = follows ? this.#last.get(name) : undefined;
    grant.token = BigInt(number);
    grant.contended = contended;
    grant.backendId = `entry-${number}`;
    grant.place = { at: `${number}`, after: before ?? "another client's" };
    this.#last.set(name, `${number}`);
    request.granted.resolve(grant);
    return grant;
  }

  /** Acquires at the backend, which grants the request. */
  async ask(
    mutex: Acquirable = this.mutex(),
    how = {},
  ): Promise<{ handle: LockHandle; grant: KeepableGrant }> {
    const asked = mutex.acquire();
    const grant = await this.grant(how);
    return { handle: await asked, grant };
  }

  /** Acquires and releases twice. After the second release the provider keeps the lock. */
  async kept(mutex: Acquirable = this.mutex(), how = {}): Promise<KeepableGrant> {
    const first = await this.ask(mutex, how);
    if ((await first.handle.release()) !== "released") throw new Error("the first grant was kept");
    const second = await this.ask(mutex, how);
    const outcome = await second.handle.release();
    if (outcome !== "kept") throw new Error(`the second grant was not kept: ${outcome}`);
    await this.rest();
    return second.grant;
  }
}
