import type { ConnectionOptions } from "node:tls";
import { type FencingToken, InvalidArgumentError, type Millis, type ProviderOptions } from "@holdfast/core";
import {
  checkBoolean,
  checkKnownKeys,
  checkMillis,
  checkObject,
  checkString,
  type ResolvedProviderOptions,
  resolveProviderOptions,
  show,
} from "@holdfast/core/internal";
import { type RedisTarget, resolveOptions } from "@holdfast/redis-recipes/internal";

/** One of the masters. They must not replicate each other, nor be shards of one cluster. */
export interface RedLockNode {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly url: string;
  /** What errors and warnings call it. Default: host and port. */
  readonly name?: string;
  /**
   * It never forgets a write that it has answered: append-only file with `appendfsync always`, no replica that could be promoted.
   * Then it votes at once after a restart. Default `false`: it sits out the longest lease.
   */
  readonly durable?: boolean;
  /** ACL user; default: the default user. In the url or here. */
  readonly username?: string;
  /** Password of that user, or of the default user; default none. In the url or here. */
  readonly password?: string;
  /** Options of `node:tls` for `rediss://`. Default: none, plain TCP without `rediss://`. */
  readonly tls?: ConnectionOptions;
  /** Number of the database; default 0. In the url or here. */
  readonly db?: number;
}

/** What `redLocks()` takes. */
export interface RedLocksOptions extends ProviderOptions {
  /** An odd number of independent masters, three or more. */
  readonly nodes: readonly (string | RedLockNode)[];
  /** How long a vote lasts, and what extensions extend to. Default 30,000. */
  readonly leaseMs?: Millis;
  /**
   * No lease may be longer, and for so long a node sits out after it has come back as another server. Must be the same in all
   * clients of the nodes: the nodes keep the longest that they were told. Default `leaseMs`.
   */
  readonly maxLeaseMs?: Millis;
  /** How long a node may take for its answer before it counts as silent. Default a two-hundredth of `leaseMs`, at least 50. */
  readonly nodeTimeoutMs?: Millis;
  /** What must be left of the lease when the majority is there, for it to be a grant. Default 0. */
  readonly minValidityMs?: Millis;
  /** A hold is not extended beyond this. Default `Infinity`. */
  readonly maxHoldMs?: Millis;
  /**
   * Nodes that may have forgotten votes sit out the longest lease. `false` shows what happens without: two holders after one
   * node's restart. Default `true`.
   */
  readonly restartGuard?: boolean;
  /** Put in front of every lock name. Default none. */
  readonly keyPrefix?: string;
  /** How long a token key outlives the last vote. Default the longer of 100 leases and 1 hour; at least 100 leases; 0: for ever. */
  readonly tokenTtlMs?: Millis;
  /**
   * Where fencing tokens come from. `"none"` (default): there are none. `"write-back"`: the highest of the majority's counters, written back to a
   * majority before the grant, which costs a second round; it can go back when nodes lose their data. A function: one source that orders
   * them, such as a counter in ZooKeeper; asked once the majority is there, and a grant only if the lease outlives the answer.
   */
  readonly fencing?: "none" | "write-back" | ((name: string) => Promise<FencingToken>);
  /**
   * `"efficiency"` (default): a second holder costs work done twice. `"correctness"`: it costs more, so the factory refuses to start without
   * `fencing` by a source that orders tokens; the resource must refuse smaller ones.
   */
  readonly purpose?: "efficiency" | "correctness";
}

export interface ResolvedNode {
  readonly name: string;
  readonly durable: boolean;
  readonly target: RedisTarget;
}

export interface ResolvedRedLocksOptions {
  readonly common: ResolvedProviderOptions;
  readonly nodes: readonly ResolvedNode[];
  readonly leaseMs: Millis;
  readonly maxLeaseMs: Millis;
  readonly nodeTimeoutMs: Millis;
  readonly minValidityMs: Millis;
  readonly maxHoldMs: Millis;
  readonly restartGuard: boolean;
  readonly keyPrefix: string;
  readonly tokenTtlMs: Millis;
  readonly fencing: "none" | "write-back" | ((name: string) => Promise<FencingToken>);
}

const ownKeys = [
  "nodes",
  "leaseMs",
  "maxLeaseMs",
  "nodeTimeoutMs",
  "minValidityMs",
  "maxHoldMs",
  "restartGuard",
  "keyPrefix",
  "tokenTtlMs",
  "fencing",
  "purpose",
] as const satisfies readonly (keyof RedLocksOptions)[];

const nodeKeys: ReadonlySet<string> = new Set([
  "url",
  "name",
  "durable",
  "username",
  "password",
  "tls",
  "db",
] satisfies (keyof RedLockNode)[]);

/** Throws `InvalidArgumentError` naming the option and what it takes. */
export function resolveRedLocks(given: RedLocksOptions): ResolvedRedLocksOptions {
  const options = given === undefined ? ({} as RedLocksOptions) : given;
  const of = (key: keyof RedLocksOptions) => `redLocks: ${key}`;
  const common = resolveProviderOptions("redLocks", options, ownKeys);
  for (const key of ["leaseMs", "maxLeaseMs", "nodeTimeoutMs"] as const) {
    checkMillis(of(key), options[key], { minimumMs: 1, infinite: false });
  }
  checkMillis(of("minValidityMs"), options.minValidityMs, { minimumMs: 0, infinite: false });
  checkMillis(of("maxHoldMs"), options.maxHoldMs, { minimumMs: 1, infinite: true });
  checkBoolean(of("restartGuard"), options.restartGuard);
  checkString(of("keyPrefix"), options.keyPrefix);
  const leaseMs = options.leaseMs ?? 30_000;
  const maxLeaseMs = options.maxLeaseMs ?? leaseMs;
  const nodeTimeoutMs = options.nodeTimeoutMs ?? Math.max(50, Math.ceil(leaseMs / 200));
  if (maxLeaseMs < leaseMs) {
    throw new InvalidArgumentError(
      `${of("maxLeaseMs")} must be at least leaseMs (${leaseMs} ms); got ${maxLeaseMs}`,
    );
  }
  if (nodeTimeoutMs >= leaseMs) {
    throw new InvalidArgumentError(
      `${of("nodeTimeoutMs")} must be less than leaseMs (${leaseMs} ms), best a small part of it; got ${nodeTimeoutMs}`,
    );
  }
  const nodes = nodesOf(of("nodes"), options.nodes);
  const fencing = fencingOf(of("fencing"), options.fencing, options.purpose);
  const { tokenTtlMs, keyPrefix } = resolveOptions({
    url: "redis://localhost",
    leaseMs: maxLeaseMs,
    ...(options.tokenTtlMs !== undefined && { tokenTtlMs: options.tokenTtlMs }),
    ...(options.keyPrefix !== undefined && { keyPrefix: options.keyPrefix }),
  });
  return {
    common,
    nodes,
    leaseMs,
    maxLeaseMs,
    nodeTimeoutMs,
    minValidityMs: options.minValidityMs ?? 0,
    maxHoldMs: options.maxHoldMs ?? Infinity,
    restartGuard: options.restartGuard ?? true,
    keyPrefix,
    tokenTtlMs,
    fencing,
  };
}

function nodesOf(what: string, given: unknown): readonly ResolvedNode[] {
  if (!Array.isArray(given) || given.length < 3 || given.length % 2 === 0) {
    const got = Array.isArray(given) ? `${given.length}` : show(given);
    throw new InvalidArgumentError(
      `${what} must be an odd number of independent masters, 3 or more: an even one tolerates no more failures than one less; got ${got}`,
    );
  }
  const nodes = given.map((each: string | RedLockNode, index) => nodeOf(`${what}[${index}]`, each));
  const names = nodes.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new InvalidArgumentError(
      `${what}: ${show(twice)} is there twice; each node is a server of its own`,
    );
  return nodes;
}

function nodeOf(what: string, given: string | RedLockNode): ResolvedNode {
  const node: RedLockNode = typeof given === "string" ? { url: given } : given;
  checkObject(what, node);
  checkKnownKeys(what, node, nodeKeys);
  checkString(`${what}.name`, node.name);
  checkBoolean(`${what}.durable`, node.durable);
  const { name, durable = false, ...access } = node;
  const { target } = resolveOptions(access);
  const address = target.kind === "single" ? `${target.address.host}:${target.address.port}` : node.url;
  return { name: name ?? address, durable, target };
}

function fencingOf(
  what: string,
  fencing: RedLocksOptions["fencing"],
  purpose: RedLocksOptions["purpose"],
): ResolvedRedLocksOptions["fencing"] {
  if (purpose !== undefined && purpose !== "efficiency" && purpose !== "correctness") {
    throw new InvalidArgumentError(
      `redLocks: purpose must be "efficiency" or "correctness"; got ${show(purpose)}`,
    );
  }
  if (
    fencing !== undefined &&
    fencing !== "none" &&
    fencing !== "write-back" &&
    typeof fencing !== "function"
  ) {
    throw new InvalidArgumentError(
      `${what} must be "none", "write-back" or a function; got ${show(fencing)}`,
    );
  }
  if (purpose === "correctness" && typeof fencing !== "function") {
    throw new InvalidArgumentError(
      `${what}: purpose "correctness" needs a function that draws tokens from one ordering source, such as a counter in ZooKeeper; votes of nodes have no order by themselves`,
    );
  }
  return fencing ?? "none";
}
