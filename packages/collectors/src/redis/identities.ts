import type { Millis, Runtime } from "@holdfast/core";
import { type Command, clientKey } from "@holdfast/redis-recipes/internal";
import type { ClientIdentity } from "../observe/observed-lock.js";
import type { Link } from "./link.js";
import type { Places } from "./places.js";

export interface KnownClient {
  readonly identity: ClientIdentity | null;
  /** Epoch ms of the client's start, as the client says. */
  readonly startMs: Millis | null;
  readonly app: string | null;
  readonly version: string | null;
}

const nobody: KnownClient = { identity: null, startMs: null, app: null, version: null };
const freshMs: Millis = 30_000;
const remembered = 10_000;
const longest = 256;

/**
 * What clients say of themselves in `hf:client:<uuid>`: ours with the option `identity`, those of Redisson where their users
 * write it.
 */
export class Identities {
  readonly #places: Places;
  readonly #runtime: Runtime;
  readonly #known = new Map<string, { readonly client: KnownClient; readonly atMs: Millis }>();

  constructor(places: Places, runtime: Runtime) {
    this.#places = places;
    this.#runtime = runtime;
  }

  of(uuid: string): KnownClient {
    return this.#known.get(uuid)?.client ?? nobody;
  }

  /**
   * Reads the clients that are not known or were read long ago. Resolves with those of which something has changed. Never
   * rejects.
   */
  async learn(uuids: Iterable<string>, limit: number): Promise<ReadonlySet<string>> {
    const nowMs = this.#runtime.nowMs();
    const byLink = new Map<Link, string[]>();
    let count = 0;
    for (const uuid of uuids) {
      const known = this.#known.get(uuid);
      if (known !== undefined && nowMs - known.atMs < freshMs) continue;
      const link = this.#places.masterOf(clientKey(uuid));
      if (link === null) continue;
      if (++count > limit) break;
      byLink.set(link, [...(byLink.get(link) ?? []), uuid]);
    }
    const news = new Set<string>();
    await Promise.all(
      [...byLink].map(async ([link, own]) => {
        const asks = own.map((uuid): Command => ["hmget", clientKey(uuid), ...fields]);
        const replies = await link.send(asks).catch(() => []);
        replies.forEach((reply, index) => {
          const uuid = own[index] as string;
          const client = Array.isArray(reply) ? read(reply) : nobody;
          const before = this.#known.get(uuid)?.client ?? nobody;
          // An identity that was read once stays, even when its record in Redis has expired.
          const kept = client.identity === null ? before : client;
          this.#known.delete(uuid);
          this.#known.set(uuid, { client: kept, atMs: nowMs });
          if (JSON.stringify(kept) !== JSON.stringify(before)) news.add(uuid);
        });
      }),
    );
    while (this.#known.size > remembered) this.#known.delete(this.#known.keys().next().value as string);
    return news;
  }
}

const fields = ["label", "host", "pid", "app", "version", "start"] as const;

function read(values: readonly unknown[]): KnownClient {
  const [label, host, pid, app, version, start] = values.map((value) =>
    typeof value === "string" && value !== "" ? value.slice(0, longest) : null,
  );
  if (label === null && host === null && pid === null && app === null) return nobody;
  const startMs = Number(start ?? Number.NaN);
  const number = Number(pid ?? Number.NaN);
  return {
    identity: {
      label: label ?? app ?? null,
      host: host ?? null,
      pid: Number.isSafeInteger(number) && number > 0 ? number : null,
    },
    startMs: Number.isSafeInteger(startMs) && startMs > 0 ? startMs : null,
    app: app ?? null,
    version: version ?? null,
  };
}
