import type { RedissonPublish } from "../../src/layout/channels.js";
import type { Late } from "../../src/scripts/mutex/answers.js";
import type { Keyspace } from "./keyspace.js";

export type Look =
  | { readonly state: "free" }
  | { readonly state: "held"; readonly holder: string; readonly mode?: "read" | "write" }
  | { readonly state: "conflict"; readonly found: string };

export interface Publishing {
  readonly publish: RedissonPublish;
  readonly channel: string;
}

const oursPattern = /^([0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}):\d+$/;

/** What all models share: tokens, messages, dates. Written without looking at the Lua. */
export class Wire<K extends { readonly token: string; readonly lock?: string } = { readonly token: string }> {
  constructor(
    protected readonly space: Keyspace,
    protected readonly keys: K,
    protected readonly runId: string,
  ) {}

  protected get serverMs(): number {
    return this.space.nowUs / 1000;
  }

  protected late(notAfterMs: number | null): Late | null {
    if (notAfterMs === null || this.space.nowUs <= Math.floor(notAfterMs * 1000)) return null;
    return { status: "late", serverMs: this.serverMs };
  }

  protected lastToken(): bigint | null {
    const type = this.space.type(this.keys.token);
    if (type === "none") return 0n;
    const value = this.space.string(this.keys.token) ?? "";
    return knownToken(value);
  }

  /** Raises the token key to the highest token that a client has seen, and one above it while there is a holder. */
  protected raised(last: bigint, floor: bigint, held: boolean, ttlMs: number): bigint {
    if (floor <= last) return last;
    const token = held ? floor + 1n : floor;
    this.writeToken(token, ttlMs);
    return token;
  }

  protected writeToken(token: bigint, ttlMs: number): void {
    this.space.set(this.keys.token, String(token), ttlMs > 0 ? ttlMs : null);
  }

  protected grantToken(last: bigint, ttlMs: number): bigint {
    const now = BigInt(this.space.nowUs);
    const token = last + 1n > now ? last + 1n : now;
    this.writeToken(token, ttlMs);
    return token;
  }

  protected grantAbove(last: bigint, floor: bigint, ttlMs: number): bigint {
    return this.grantToken(floor > last ? floor : last, ttlMs);
  }

  protected isOurs(owner: string): boolean {
    return oursPattern.test(owner);
  }

  /** Whether the provider may keep the lock. The variant in its owner's UUID says so. */
  protected mayBeKept(owner: string): boolean {
    return this.isOurs(owner) && owner[19] === "e";
  }

  protected tellKeeper(holder: string): void {
    if (this.mayBeKept(holder)) this.tell(holder, { type: "wanted" });
  }

  /** Sends a message to an owner. Only owners of ours have a channel. */
  protected tell(owner: string, message: Record<string, string>): boolean {
    const ours = oursPattern.exec(owner);
    if (!ours) return false;
    this.space.publish(
      `holdfast_grant:${ours[1]}`,
      JSON.stringify({ ...message, key: this.keys.lock, owner }),
    );
    return true;
  }

  protected tellRedisson(to: Publishing, message: string): void {
    // The server with which the model is compared has listeners on plain channels only.
    if (to.publish === "publish" || to.publish === "both") this.space.publish(to.channel, message);
  }
}

/** The token, if it is one that scripts go on from; `null` for any other text. */
export function knownToken(text: string): bigint | null {
  return /^\d{1,15}$|^[0-8]\d{15}$/.test(text) ? BigInt(text) : null;
}
