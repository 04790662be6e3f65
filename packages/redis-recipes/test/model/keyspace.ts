/** What a Redis key can hold, as far as locks need it. */
export type Content =
  | { readonly type: "string"; value: string }
  | { readonly type: "hash"; readonly fields: Map<string, string> }
  | { readonly type: "list"; readonly items: string[] }
  | { readonly type: "zset"; readonly scores: Map<string, number> };

type ContentOf<T extends Content["type"]> = Extract<Content, { type: T }>;

export interface Key {
  readonly content: Content;
  /** Server time in ms, `null` for never. */
  expiresMs: number | null;
}

export interface Published {
  readonly channel: string;
  readonly message: string;
}

/** Keys with their TTLs, messages, and a clock that the caller sets. The models of the scripts run on it. */
export class Keyspace {
  readonly keys = new Map<string, Key>();
  readonly published: Published[] = [];
  /** How many clients are subscribed to a channel by its name. */
  readonly listeners = new Map<string, number>();
  nowUs = 0;

  get nowMs(): number {
    return Math.floor(this.nowUs / 1000);
  }

  /** Sets the clock and drops the keys that have expired by then. */
  at(nowUs: number): void {
    this.nowUs = nowUs;
    for (const [name, { expiresMs }] of this.keys) {
      if (expiresMs !== null && expiresMs <= this.nowMs) this.keys.delete(name);
    }
  }

  type(name: string): Content["type"] | "none" {
    return this.keys.get(name)?.content.type ?? "none";
  }

  string(name: string): string | null {
    const content = this.keys.get(name)?.content;
    return content?.type === "string" ? content.value : null;
  }

  /** Like `SET`: the old value is gone, and so is its TTL. */
  set(name: string, value: string, ttlMs: number | null = null): void {
    this.keys.set(name, {
      content: { type: "string", value },
      expiresMs: ttlMs === null ? null : this.nowMs + ttlMs,
    });
  }

  hash(name: string): Map<string, string> {
    return this.#read(name, "hash")?.fields ?? new Map();
  }

  list(name: string): readonly string[] {
    return this.#read(name, "list")?.items ?? [];
  }

  zset(name: string): ReadonlyMap<string, number> {
    return this.#read(name, "zset")?.scores ?? new Map();
  }

  hset(name: string, field: string, value: string): void {
    this.#make(name, { type: "hash", fields: new Map() }).fields.set(field, value);
  }

  hdel(name: string, field: string): void {
    const fields = this.#read(name, "hash")?.fields;
    fields?.delete(field);
    if (fields?.size === 0) this.keys.delete(name);
  }

  push(name: string, item: string): void {
    this.#make(name, { type: "list", items: [] }).items.push(item);
  }

  shift(name: string): void {
    this.#cut(name, (items) => items.splice(0, 1));
  }

  /** Removes the first item that is equal. */
  pull(name: string, item: string): boolean {
    const place = this.list(name).indexOf(item);
    if (place >= 0) this.#cut(name, (items) => items.splice(place, 1));
    return place >= 0;
  }

  score(name: string, member: string, score: number): void {
    this.#make(name, { type: "zset", scores: new Map() }).scores.set(member, score);
  }

  unscore(name: string, member: string): boolean {
    const scores = this.#read(name, "zset")?.scores;
    const had = scores?.delete(member) === true;
    if (scores?.size === 0) this.keys.delete(name);
    return had;
  }

  del(name: string): boolean {
    return this.keys.delete(name);
  }

  expire(name: string, ttlMs: number): void {
    const key = this.keys.get(name);
    if (key) key.expiresMs = this.nowMs + ttlMs;
  }

  /** Like PTTL: -2 without a key, -1 without a TTL. */
  pttl(name: string): number {
    const key = this.keys.get(name);
    if (!key) return -2;
    return key.expiresMs === null ? -1 : key.expiresMs - this.nowMs;
  }

  publish(channel: string, message: string): void {
    this.published.push({ channel, message });
  }

  #read<T extends Content["type"]>(name: string, type: T): ContentOf<T> | undefined {
    const content = this.keys.get(name)?.content;
    if (content === undefined) return undefined;
    if (content.type !== type) throw new Error(`model: ${name} is a ${content.type}, not a ${type}`);
    return content as ContentOf<T>;
  }

  #make<T extends Content["type"]>(name: string, empty: ContentOf<T>): ContentOf<T> {
    const there = this.#read(name, empty.type as T);
    if (there) return there;
    this.keys.set(name, { content: empty, expiresMs: null });
    return empty;
  }

  #cut(name: string, cut: (items: string[]) => void): void {
    const items = this.#read(name, "list")?.items;
    if (!items) return;
    cut(items);
    if (items.length === 0) this.keys.delete(name);
  }
}
