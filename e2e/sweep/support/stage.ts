import { type AcquireOptions, HoldfastError } from "@holdfast/core";
import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import type { Held, Lockable, Recipe } from "../recipes.js";
import { type Client, sessionTimeoutMs, type World } from "./world.js";

/** How long a step waits for another step that a fault may have prevented. */
const stepLimitMs = 2 * sessionTimeoutMs;

/** One run of an operation: its clients, and the errors that they may get because of the fault. */
export class Stage {
  readonly world: World;
  readonly recipe: Recipe;
  readonly path = "/locks/stage";
  readonly #clients = new Map<string, Client>();
  /** Names of errors that the fault of this run excuses. */
  readonly #refuses: readonly string[];
  /** Names of the errors with which calls have rejected. */
  readonly refusals: string[] = [];

  constructor(world: World, recipe: Recipe, refuses: readonly string[]) {
    this.world = world;
    this.recipe = recipe;
    if (recipe.limit !== undefined) world.witness.limits.set(this.path, recipe.limit);
    this.#refuses = refuses;
  }

  async open(labels: readonly string[], options: ZooKeeperLocksOptions = {}): Promise<void> {
    for (const label of labels) this.#clients.set(label, await this.world.open(label, options));
  }

  client(label: string): Client {
    const client = this.#clients.get(label);
    if (client === undefined) throw new Error(`no client ${label}`);
    return client;
  }

  get clients(): readonly Client[] {
    return [...this.#clients.values()];
  }

  /** The lock that the operation is about, as this client sees it. */
  lock(label: string): Lockable {
    return this.recipe.of(this.client(label).locks, this.path);
  }

  /** The handle, or `null` if the acquire rejects. See `allow`. */
  acquire(label: string, options: AcquireOptions = {}): Promise<Held | null> {
    return this.allow(() => this.lock(label).acquire(options));
  }

  async release(label: string, handle: Held | null): Promise<void> {
    if (handle === null) return;
    this.world.witness.givesBack(label, handle);
    const outcome = await this.allow(() => handle.release());
    if (outcome !== null) this.world.witness.gaveBack(label, handle, outcome);
  }

  /** Returns `null` if `work` rejects. An error that neither the fault of this run nor `also` excuses is a violation. */
  async allow<T>(work: () => Promise<T>, also: readonly string[] = []): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      const { name } = error as Error;
      if (!(error instanceof HoldfastError) && name !== "AbortError") throw error;
      if (![...this.#refuses, ...also].includes(name)) {
        this.world.witness.violation(`rejected with ${String(error)}`);
      }
      this.refusals.push(name);
      return null;
    }
  }

  /** Waits until the lock has `count` nodes, or until so much time has passed that the fault must have prevented it. */
  async whenQueued(count: number): Promise<void> {
    if (!this.recipe.queue) return await this.world.sleep(20);
    await this.world.until(() => this.world.queued(this.path) === count, stepLimitMs);
  }
}
