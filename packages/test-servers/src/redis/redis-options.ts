import { randomBytes } from "node:crypto";
import { makeRedisCertificate, type RedisCertificate } from "./certificate.js";

/** Settings of a Redis server. Those of a replica set or a cluster apply to each of its servers. */
export interface RedisOptions {
  /** The password of the user `default`. Default: none. */
  password?: string;
  /**
   * Further users, as in an ACL file without the first word: `"app on >secret ~lock:* &* +@all"`. `"default off"`
   * closes the server to clients that give no name. The commands of this package are sent as a user of its own.
   */
  users?: readonly string[];
  /**
   * TLS on all connections, and no plain port. The certificate is the one given, or one made for the server. `tls` of
   * the server has what clients must trust; they need no certificate themselves. Default false.
   */
  tls?: boolean | RedisCertificate;
  /** The `maxmemory` of redis.conf, such as `"64mb"`; default no limit. */
  maxMemory?: string;
  /** What is evicted at the limit; default `"noeviction"`, the only policy that is safe for locks. */
  maxMemoryPolicy?: string;
  /** Keeps an append-only file, and says when it is flushed to the disk; default none. */
  appendOnly?: "always" | "everysec" | "no";
  /** When a snapshot is written, such as `"1 1"`; default never. */
  save?: string;
  /** Classes of keyspace notifications, such as `"KEA"`; default none. */
  notify?: string;
  /** Further lines of redis.conf. They come after ours, so that they win. Default: none. */
  config?: Readonly<Record<string, string | number>>;
  /** Limit for a start in milliseconds; default 10,000 (a start takes some 30 ms on an idle machine). */
  startWithinMs?: number;
}

/** The user who may do everything. */
export interface RedisAdmin {
  readonly username: string;
  readonly password: string;
}

/** What the servers of one set have in common, and what is generated for them at the start. */
export interface RedisSecrets {
  /** Absent if every client may do everything. */
  readonly admin: RedisAdmin | undefined;
  readonly tls: RedisCertificate | undefined;
}

export function makeSecrets(options: RedisOptions): RedisSecrets {
  const guarded = options.password !== undefined || options.users !== undefined;
  return {
    admin: guarded
      ? { username: "holdfast-test-servers", password: randomBytes(16).toString("hex") }
      : undefined,
    tls: certificateOf(options.tls ?? false),
  };
}

function certificateOf(tls: boolean | RedisCertificate): RedisCertificate | undefined {
  if (typeof tls === "boolean") return tls ? makeRedisCertificate() : undefined;
  return tls;
}

/** Lines of redis.conf for a data server. */
export function dataLines(options: RedisOptions, { admin }: RedisSecrets): string[] {
  const lines = [
    `save ${JSON.stringify(options.save ?? "")}`,
    `appendonly ${options.appendOnly === undefined ? "no" : "yes"}`,
    `appendfsync ${options.appendOnly ?? "everysec"}`,
    `maxmemory-policy ${options.maxMemoryPolicy ?? "noeviction"}`,
    "repl-diskless-sync-delay 0", // instead of waiting 5 s for further replicas
    "shutdown-timeout 0",
  ];
  if (options.maxMemory !== undefined) lines.push(`maxmemory ${options.maxMemory}`);
  if (options.notify !== undefined) lines.push(`notify-keyspace-events ${JSON.stringify(options.notify)}`);
  if (options.password !== undefined) lines.push(`requirepass ${JSON.stringify(options.password)}`);
  for (const user of options.users ?? []) lines.push(`user ${user}`);
  if (admin !== undefined) {
    lines.push(`user ${admin.username} on >${admin.password} ~* &* +@all`);
    lines.push(`masteruser ${admin.username}`, `masterauth ${admin.password}`);
  }
  for (const [name, value] of Object.entries(options.config ?? {})) lines.push(`${name} ${value}`);
  return lines;
}
