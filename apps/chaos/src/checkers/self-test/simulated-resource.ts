import type { Entry } from "./simulated-server.js";
import type { SimulatedWorld } from "./simulated-world.js";

/** A resource that takes read-modify-writes, and refuses a token below the highest that it has seen. */
export class SimulatedResource {
  readonly #world: SimulatedWorld;
  readonly #highest = new Map<string, number>();
  #value = 0;

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  write(entry: Entry, hold: string): void {
    if (entry.key !== "mutex") return;
    const highest = this.#highest.get(entry.key) ?? 0;
    const accepted = !this.#world.has("check tokens at the resource") || entry.token >= highest;
    const read = this.#value;
    if (accepted) {
      this.#value += 1;
      this.#highest.set(entry.key, entry.token);
    }
    this.#world.add({
      type: "effect",
      p: "resource",
      key: entry.key,
      hold,
      token: String(entry.token),
      accepted,
      read,
      value: this.#value,
    });
  }
}
