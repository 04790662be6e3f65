import { SimulatedResource } from "./simulated-resource.js";
import { type Entry, entryOf, type Key, type SimulatedServer } from "./simulated-server.js";
import { faultsEndMs, networkMs, type SimulatedWorld } from "./simulated-world.js";

/** Workers begin nothing new after this time. */
export const workMs = 13_000;

/** Workers that acquire, hold, write and release until `workMs`. Sessions of holders can be taken away. */
export class SimulatedClients {
  readonly #world: SimulatedWorld;
  readonly #server: SimulatedServer;
  readonly #resource: SimulatedResource;
  readonly #localTokens = new Map<string, number>();
  /** The entries that hold, each with a callback for its loss. */
  readonly #holders = new Map<Entry, () => void>();

  constructor(world: SimulatedWorld, server: SimulatedServer) {
    this.#world = world;
    this.#server = server;
    this.#resource = new SimulatedResource(world);
  }

  work(p: string): void {
    const world = this.#world;
    if (world.nowMs >= workMs) return;
    const key = (["mutex", "mutex", "mutex", "rw", "permits", "nested"] as const)[world.draw(6)] ?? "mutex";
    const again = (): void => world.in(2 + world.draw(8), () => this.work(p));
    if (key === "nested" && world.draw(4) === 0) this.#try(p, key, again);
    else this.#acquire(p, key, again);
  }

  /**
   * Ends the session of a holder. The holder's own deadline comes before the server removes the entry, so the holder
   * notices its loss first.
   */
  loseSession(): void {
    const world = this.#world;
    const [entry, lost] = [...this.#holders].find(([{ key }]) => key === "mutex") ?? [];
    if (entry === undefined || lost === undefined) {
      if (world.nowMs < faultsEndMs) world.in(1, () => this.loseSession());
      return;
    }
    this.#server.faulted = true;
    const { p, key, op } = entry;
    const hold = `${p}:${op}`;
    const promisedMs = world.has("promise less than the lease") ? 40 : 150;
    const fault = { type: "fault", p: "nemesis", f: "session-loss", target: p };
    world.add({ ...fault, phase: "begin", evidence: { op } });
    const validUntil = (world.nowMs + promisedMs) * 1e6;
    world.add({ type: "event", p, f: "extended", key, hold, validUntil });
    lost();
    if (world.has("tell of a lost session"))
      world.in(promisedMs, () =>
        world.add({ type: "event", p, f: "lost", key, hold, cause: "session-expired" }),
      );
    world.in(50, () => {
      this.#server.remove(entry);
      world.add({ ...fault, phase: "end" });
    });
  }

  #acquire(p: string, key: Key, again: () => void): void {
    const world = this.#world;
    const op = world.nextOp();
    const mode = key === "rw" && world.draw(3) > 0 ? "read" : "write";
    const permits = key === "permits" ? 1 + world.draw(2) : 1;
    const waitMs = world.draw(4) === 0 ? 20 : -1;
    const thread = key === "nested" ? { thread: "t" } : {};
    const arg = { mode, permits, ...thread, ...(waitMs < 0 ? {} : { waitMs }) };
    world.add({ type: "invoke", p, f: "acquire", key, op, arg });
    const onEnd = (granted: boolean): void => {
      if (granted) this.#hold(entry, again);
      else {
        world.add({ type: "fail", p, f: "acquire", key, op });
        again();
      }
    };
    const entry = entryOf({ p, op, key, onEnd }, { mode, permits });
    world.in(networkMs, () => this.#server.enqueue(entry));
    if (waitMs >= 0) world.in(waitMs, () => this.#giveUp(entry));
  }

  #try(p: string, key: Key, again: () => void): void {
    const world = this.#world;
    const op = world.nextOp();
    world.add({ type: "invoke", p, f: "try-acquire", key, op, arg: { thread: "t" } });
    world.in(networkMs, () => {
      const queue = this.#server.queue(key);
      const free = world.has("refuse only what is held") ? queue.length === 0 : false;
      const token = this.#server.nextToken();
      const entry = entryOf({ p, op, key, onEnd: () => {} }, { token, settled: true });
      if (free) queue.push(entry);
      world.in(networkMs, () => {
        if (free) this.#hold(entry, again, "try-acquire");
        else {
          world.add({ type: "fail", p, f: "try-acquire", key, op });
          again();
        }
      });
    });
  }

  #giveUp(entry: Entry): void {
    if (entry.settled) return;
    entry.settled = true;
    if (this.#world.has("take back what was given up")) this.#server.remove(entry);
    if (this.#world.has("give up in time")) entry.onEnd(false);
    else this.#world.in(2_000, () => entry.onEnd(false));
  }

  #hold(entry: Entry, again: () => void, f: "acquire" | "try-acquire" = "acquire"): void {
    const world = this.#world;
    const { p, key, op } = entry;
    const hold = `${p}:${op}`;
    if (!world.has("tokens from the server")) {
      entry.token = (this.#localTokens.get(p) ?? 0) + 1;
      this.#localTokens.set(p, entry.token);
    }
    const token = key === "mutex" || key === "rw" ? { token: String(entry.token) } : {};
    const count = key === "nested" ? { count: 1 } : {};
    world.add({ type: "ok", p, f, key, op, ret: { hold, ...token, ...count } });
    if (key === "nested" && world.draw(2) === 0) return this.#nest(entry, hold, again);
    let over = false;
    const heldMs = 4 + world.draw(12);
    this.#holders.set(entry, () => {
      over = true;
      this.#holders.delete(entry);
      world.in(140, () => this.#resource.write(entry, hold));
      world.in(160, () => this.#release(entry, hold, again));
    });
    world.in(2, () => over || this.#resource.write(entry, hold));
    world.in(heldMs, () => {
      if (over) return;
      this.#holders.delete(entry);
      if (key === "rw" && entry.mode === "write" && world.draw(2) === 0) this.#downgrade(entry, hold, again);
      else this.#release(entry, hold, again);
    });
  }

  #downgrade(write: Entry, hold: string, again: () => void): void {
    const world = this.#world;
    const { p, key } = write;
    const op = world.nextOp();
    world.add({ type: "invoke", p, f: "downgrade", key, op, hold });
    const reads = (entry: Entry): void => {
      const read = `${p}:${op}`;
      world.add({ type: "ok", p, f: "downgrade", key, op, ret: { hold: read, token: String(write.token) } });
      world.in(3, () => this.#release(entry, read, again));
    };
    world.in(networkMs, () => {
      if (world.has("downgrade in one step")) {
        this.#server.lower(write);
        world.in(networkMs, () => reads(write));
      } else {
        const read: Entry = entryOf({ p, op, key, onEnd: () => reads(read) }, { mode: "read" });
        this.#server.remove(write);
        this.#server.enqueue(read);
      }
    });
  }

  #nest(entry: Entry, outer: string, again: () => void): void {
    const world = this.#world;
    const { p, key } = entry;
    const inner = world.nextOp();
    const hold = `${p}:${inner}`;
    const count = world.has("report one's own count") ? 2 : 1;
    world.in(2, () => world.add({ type: "invoke", p, f: "acquire", key, op: inner, arg: { thread: "t" } }));
    world.in(3, () => world.add({ type: "ok", p, f: "acquire", key, op: inner, ret: { hold, count } }));
    const op = world.nextOp();
    world.in(5, () => {
      world.add({ type: "invoke", p, f: "release", key, op, hold });
      if (!world.has("free at the outermost release")) this.#server.remove(entry);
    });
    world.in(6, () => world.add({ type: "ok", p, f: "release", key, op, ret: { count: 1 } }));
    world.in(14, () => this.#release(entry, outer, again));
  }

  #release(entry: Entry, hold: string, again: () => void): void {
    const world = this.#world;
    const { p, key } = entry;
    const op = world.nextOp();
    world.add({ type: "invoke", p, f: "release", key, op, hold });
    world.in(networkMs, () => {
      if (!entry.gone) this.#server.remove(entry);
      else if (!world.has("release only one's own")) {
        const [other] = this.#server.queue(key);
        if (other !== undefined) this.#server.remove(other);
      }
      world.in(networkMs, () => {
        world.add({ type: "ok", p, f: "release", key, op, ret: key === "nested" ? { count: 0 } : {} });
        again();
      });
    });
  }
}
