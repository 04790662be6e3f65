import type { RedisNode } from "./node.js";
import type { RedisAdmin } from "./redis-options.js";

const keysAtOnce = 100;
const migrateWithinMs = 2_000;

/**
 * A slot on its way from one master to another. Until `finish`, the old owner serves the keys that it still has.
 * Clients that ask it for other keys are sent to the new owner by ASK.
 */
export class SlotMove {
  /** The slot, from 0 to 16383. */
  readonly slot: number;
  /** The master that had it. */
  readonly from: RedisNode;
  /** The master that gets it. */
  readonly to: RedisNode;
  readonly #masters: readonly RedisNode[];
  readonly #ids: { from: string; to: string };
  readonly #admin: RedisAdmin | undefined;

  private constructor(
    slot: number,
    from: RedisNode,
    to: RedisNode,
    masters: readonly RedisNode[],
    ids: { from: string; to: string },
    admin: RedisAdmin | undefined,
  ) {
    this.slot = slot;
    this.from = from;
    this.to = to;
    this.#masters = masters;
    this.#ids = ids;
    this.#admin = admin;
  }

  /** Begins the move of a slot; `RedisCluster` calls it. */
  static async begin(
    slot: number,
    from: RedisNode,
    to: RedisNode,
    masters: readonly RedisNode[],
    admin: RedisAdmin | undefined,
  ): Promise<SlotMove> {
    const ids = {
      from: String(await from.command("CLUSTER", "MYID")),
      to: String(await to.command("CLUSTER", "MYID")),
    };
    await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids.from);
    await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids.to);
    return new SlotMove(slot, from, to, masters, ids, admin);
  }

  /** Moves the keys that the old owner has, and returns how many. */
  async moveKeys(): Promise<number> {
    let moved = 0;
    for (;;) {
      const keys = await this.from.command("CLUSTER", "GETKEYSINSLOT", this.slot, keysAtOnce);
      if (!Array.isArray(keys) || keys.length === 0) return moved;
      const right = this.#admin === undefined ? [] : ["AUTH2", this.#admin.username, this.#admin.password];
      const { host, port } = this.to;
      const names = keys.map(String);
      await this.from.command("MIGRATE", host, port, "", 0, migrateWithinMs, ...right, "KEYS", ...names);
      moved += names.length;
    }
  }

  /** Makes the new owner known: MOVED replaces ASK. All keys must have been moved. */
  async finish(): Promise<void> {
    // The new owner first: it takes a new epoch, and without that the others would not believe it.
    const others = this.#masters.filter((node) => node !== this.to && node !== this.from);
    for (const node of [this.to, this.from, ...others]) {
      if (node.running) await node.command("CLUSTER", "SETSLOT", this.slot, "NODE", this.#ids.to);
    }
  }
}
