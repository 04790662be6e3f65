import type { SemaphoreKeys } from "../../src/layout/keys.js";
import type { GiveAnswer, GiveArgs } from "../../src/scripts/semaphore/give.js";
import type { TakeAnswer, TakeArgs } from "../../src/scripts/semaphore/take.js";
import type { Keyspace } from "./keyspace.js";
import { type Publishing, Wire } from "./wire.js";

/** The number under a key. `null`: there is none. A text names what is there instead. */
export function numberAt(space: Keyspace, key: string): number | null | string {
  const type = space.type(key);
  if (type === "none") return null;
  if (type !== "string") return type;
  const value = space.string(key) ?? "";
  return /^-?\d+$/.test(value) ? Number(value) : "text";
}

/** Changes the number and keeps its TTL, as INCRBY does. */
export function addTo(space: Keyspace, key: string, change: number): number {
  const there = space.keys.get(key);
  const value = Number(space.string(key) ?? 0) + change;
  space.set(key, String(value));
  const now = space.keys.get(key);
  if (there && now) now.expiresMs = there.expiresMs;
  return value;
}

export class SemaphoreModel extends Wire<SemaphoreKeys> {
  take(args: TakeArgs): TakeAnswer {
    const { space, keys, serverMs } = this;
    const marker = space.string(keys.markerPrefix + args.owner);
    if (marker === "ended") return { status: "late", serverMs };
    const late = this.late(args.notAfterMs);
    if (late) return late;
    const free = numberAt(space, keys.permits);
    if (typeof free === "string") return { status: "conflict", serverMs, found: free };
    const last = this.lastToken();
    if (last === null) return { status: "conflict", serverMs, found: "token" };
    if (marker === "taken") return { status: "granted", serverMs, token: last, free: free ?? 0 };
    const there = free ?? args.initial;
    if (there === null) return { status: "busy", serverMs, free: null };
    if (free === null) space.set(keys.permits, String(there));
    if (there < args.permits) return { status: "busy", serverMs, free: there };
    addTo(space, keys.permits, -args.permits);
    space.set(keys.markerPrefix + args.owner, "taken", args.markerMs);
    const token = this.grantAbove(last, args.floor, args.tokenTtlMs);
    return { status: "granted", serverMs, token, free: there - args.permits };
  }

  give(owner: string, args: GiveArgs): GiveAnswer {
    const { space, keys, serverMs } = this;
    const free = numberAt(space, keys.permits);
    if (typeof free === "string") return { status: "conflict", serverMs, found: free };
    const marker = space.string(keys.markerPrefix + owner);
    space.set(keys.markerPrefix + owner, "ended", args.markerMs);
    if (marker !== "taken") return { status: "nothing", serverMs };
    const value = addTo(space, keys.permits, args.permits);
    this.#tell(args, value);
    return { status: "given", serverMs, free: value, publishError: "" };
  }

  #tell(args: Publishing, value: number): void {
    if (value >= 0) this.tellRedisson(args, String(value));
  }
}
