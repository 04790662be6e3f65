import { neverExpiresMs, type PermitKeys } from "../../src/layout/keys.js";
import type { RenewAnswer } from "../../src/scripts/mutex/renew.js";
import type { PermitReleaseAnswer, PermitReleaseArgs } from "../../src/scripts/permit/release.js";
import type { PermitRenewEntry } from "../../src/scripts/permit/renew.js";
import type { PermitSetAnswer, PermitSetArgs } from "../../src/scripts/permit/set.js";
import type { PermitTakeAnswer, PermitTakeArgs } from "../../src/scripts/permit/take.js";
import { addTo, numberAt } from "./semaphore-model.js";
import { knownToken, type Publishing, Wire } from "./wire.js";

const bytes = (id: string) => Buffer.from(id, "hex").toString("latin1");

/** The semaphore with leases. */
export class PermitModel extends Wire<PermitKeys> {
  take(args: PermitTakeArgs): PermitTakeAnswer {
    const { space, keys, serverMs } = this;
    const late = this.late(args.notAfterMs);
    if (late) return late;
    const found = this.#free();
    if (typeof found === "string") return { status: "conflict", serverMs, found };
    const last = this.lastToken();
    if (last === null) return { status: "conflict", serverMs, found: "token" };
    const grants = space.zset(keys.grants);
    const before = grants.get(bytes(args.ids[0] as string));
    if (before !== undefined) {
      const pttlMs = Math.max(0, before - space.nowMs);
      return { status: "granted", serverMs, token: last, pttlMs, free: found ?? 0 };
    }
    let free = found;
    if (args.limit !== null && free === null) {
      free = args.limit - grants.size;
      space.set(keys.permits, String(free));
    } else if (args.limit !== null && (free as number) + grants.size !== args.limit) {
      return { status: "limit", serverMs, limit: (free as number) + grants.size };
    }
    if (free === null && grants.size === 0) return { status: "unset", serverMs };
    const missing = args.ids.length - (free ?? 0);
    const now = (free ?? 0) + this.#reap(Math.max(args.ids.length, Math.min(1_000, missing)), args);
    if (now < args.ids.length) {
      const all = now + grants.size;
      if (all < args.ids.length) return { status: "beyond", serverMs, limit: all };
      const first = Math.min(...space.zset(keys.grants).values());
      const leaseLeftMs = first < neverExpiresMs ? Math.max(0, first - space.nowMs) : -1;
      return { status: "busy", serverMs, free: now, leaseLeftMs };
    }
    const till = args.leaseMs === null ? neverExpiresMs : space.nowMs + args.leaseMs;
    addTo(space, keys.permits, -args.ids.length);
    for (const id of args.ids) space.score(keys.grants, bytes(id), till);
    if (space.pttl(keys.permits) > 0) space.expire(keys.grants, space.pttl(keys.permits));
    const token = this.grantAbove(last, args.floor, args.tokenTtlMs);
    return { status: "granted", serverMs, token, pttlMs: till - space.nowMs, free: now - args.ids.length };
  }

  release(args: PermitReleaseArgs): PermitReleaseAnswer {
    const { space, keys, serverMs } = this;
    const found = this.#free();
    if (typeof found === "string") return { status: "conflict", serverMs, found };
    let inTime = 0;
    let late = 0;
    for (const id of args.ids) {
      const till = space.zset(keys.grants).get(bytes(id));
      if (till === undefined) continue;
      space.unscore(keys.grants, bytes(id));
      if (till > space.nowMs) inTime++;
      else late++;
    }
    if (inTime + late === 0) return { status: "gone", serverMs };
    const free = addTo(space, keys.permits, inTime + late);
    this.#tell(args, free);
    return { status: "released", serverMs, inTime, late, free, publishError: "" };
  }

  renew(entries: readonly PermitRenewEntry[]): readonly RenewAnswer[] {
    const { space, keys, serverMs } = this;
    return entries.map(({ ids, leaseMs }) => {
      const grants = space.type(keys.grants) === "zset" ? space.zset(keys.grants) : new Map<string, number>();
      const least = Math.min(...ids.map((id) => grants.get(bytes(id)) ?? 0));
      if (least <= space.nowMs) return { status: "gone", serverMs };
      const till = space.nowMs + leaseMs;
      for (const id of ids) {
        if ((grants.get(bytes(id)) as number) < till) space.score(keys.grants, bytes(id), till);
      }
      const value = space.string(keys.token) ?? "";
      const token = knownToken(value) ?? 0n;
      return { status: "renewed", serverMs, token, pttlMs: Math.max(least, till) - space.nowMs };
    });
  }

  set(args: PermitSetArgs): PermitSetAnswer {
    const { space, keys, serverMs } = this;
    const late = this.late(args.notAfterMs);
    if (late !== null) return late;
    const found = this.#free();
    if (typeof found === "string") return { status: "conflict", serverMs, found };
    let free = found ?? 0;
    if (found !== null || args.limit !== null) free += this.#reap(1_000, args);
    const held = space.zset(keys.grants).size;
    let changed = false;
    if (args.limit !== null && (found === null || (!args.onlyIfUnset && free + held !== args.limit))) {
      changed = true;
      addTo(space, keys.permits, args.limit - held - free);
      free = args.limit - held;
      this.#tell(args, args.limit);
    }
    if (found === null && !changed) free = -1 - held;
    return { status: "counted", serverMs, changed, free, held, publishError: "" };
  }

  #free(): number | null | string {
    const type = this.space.type(this.keys.grants);
    const found = numberAt(this.space, this.keys.permits);
    if (typeof found === "string" || type === "none" || type === "zset") return found;
    return `grants: ${type}`;
  }

  #reap(limit: number, args: Publishing): number {
    const { space, keys } = this;
    const over = [...space.zset(keys.grants)]
      .filter(([, till]) => till <= space.nowMs)
      .sort(([left, one], [right, other]) => one - other || (left < right ? -1 : 1))
      .slice(0, limit);
    if (over.length === 0) return 0;
    for (const [id] of over) space.unscore(keys.grants, id);
    const value = addTo(space, keys.permits, over.length);
    if (value > 0) this.#tell(args, value);
    return over.length;
  }

  #tell(args: Publishing, value: number): void {
    if (value >= 0) this.tellRedisson(args, String(value));
  }
}
