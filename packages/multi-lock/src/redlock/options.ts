import type { ConnectionOptions } from "node:tls";
import { type FencingToken, InvalidArgumentError, type Millis, type ProviderOptions } from "@holdfast/core";
import {
  checkBoolean,
  checkChoice,
  checkKnownKeys,
  checkMillis,
  checkObject,
  checkString,
  type ResolvedProviderOptions,
  resolveProviderOptions,
  show,
} from "@holdfast/core/internal";
import { marginMs, type RedisTarget, resolveOptions, targetOf } from "@holdfast/redis-recipes/internal";

/** One of the masters. They must not replicate each other, nor be shards of one cluster. */
export interface RedLockNode {
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
  readonly url: string;
  /** The name of this node in errors and warnings. Default: its host and port. */
  readonly name?: string;
  /**
   * `true`: this node never forgets a write that it has answered, because it has an append-only file with `appendfsync always`
   * and no replica that could be promoted. It votes at once after a restart. `false` (default): after a restart its votes do
   * not count until the longest lease has passed.
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
  /**
   * An odd number of independent masters, three or more. Must be the same list in all clients: with lists that differ in one node, two
   * clients may each have a majority, and hold the same lock. `docs/upgrade.md` of the repository says how to change it.
   */
  readonly nodes: readonly (string | RedLockNode)[];
  /**
   * How long the vote of a node lasts after it was given and after each extension. Milliseconds, finite; default
   * 30,000. `maxLeaseMs` must be at least 100, and so must this option where `maxLeaseMs` is not given.
   */
  readonly leaseMs?: Millis;
  /**
   * The longest lease that a call may ask for. It is also the time for which the votes of a node do not count after the node
   * has restarted, or was replaced by another server at its address. It does not make another list of `nodes` safe. Must be
   * the same in all clients of the nodes: a node keeps the longest value that a client has sent it. Milliseconds, at least
   * `leaseMs`; default `leaseMs`.
   */
  readonly maxLeaseMs?: Millis;
  /**
   * How long a node may take for its answer before it counts as silent. Milliseconds, less than `leaseMs`; default: a
   * two-hundredth of `leaseMs`, at least 50.
   */
  readonly nodeTimeoutMs?: Millis;
  /**
   * How much of the lease must be left when the majority has voted; with less, there is no grant. Milliseconds, less than
   * the part of each lease that counts, which is `leaseMs` less 1 % and 2 ms; default 0.
   */
  readonly minValidityMs?: Millis;
  /** A hold is not extended beyond this time after its grant. Milliseconds; default `Infinity`. */
  readonly maxHoldMs?: Millis;
  /**
   * `true` (default): the votes of a node that may have forgotten earlier ones do not count until the longest lease has passed.
   * `false` shows what happens without this guard: two holders after the restart of one node.
   */
  readonly restartGuard?: boolean;
  /** Put in front of every lock name. Default none. */
  readonly keyPrefix?: string;
  /**
   * How long a node keeps the key that counts the fencing tokens of a name after its last vote. Milliseconds, at least 100
   * times `maxLeaseMs`; default: the longer of that and 1 hour. 0: for ever.
   */
  readonly tokenTtlMs?: Millis;
  /**
   * Where fencing tokens come from. `"none"` (default): there are none. `"write-back"`: the highest of the majority's counters,
   * which is written back to a majority before the grant; this costs a second round, and tokens can go back when nodes lose
   * their data. A function: the caller's own source of rising numbers, such as a counter in ZooKeeper. It is called once the
   * majority has voted. When it has answered, the lock is granted only if the lease is still good and a majority still has these votes.
   * An error of it ends the acquire, except a `HoldfastError` that is `retryable`: then it is called again, for another majority.
   */
  readonly fencing?: "none" | "write-back" | ((name: string) => Promise<FencingToken>);
  /**
   * What a second holder would cost. `"efficiency"` (default): work that is done twice. `"correctness"`: more than that, so the
   * factory throws `InvalidArgumentError` unless `fencing` is a function, and the resource must refuse smaller tokens.
   */
  readonly purpose?: "efficiency" | "correctness";
}

export interface ResolvedNode {
  readonly name: string;
  readonly durable: boolean;
  readonly target: RedisTarget;
}

export interface ResolvedRedLocksOptions
  extends Required<Omit<RedLocksOptions, keyof ProviderOptions | "nodes" | "purpose">> {
  readonly common: ResolvedProviderOptions;
  readonly nodes: readonly ResolvedNode[];
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

const nodeKeys: (keyof RedLockNode)[] = ["url", "name", "durable", "username", "password", "tls", "db"];

/** Throws `InvalidArgumentError`, which names the option and what it takes. */
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
  const { leaseMs = 30_000, minValidityMs = 0, maxHoldMs = Infinity, restartGuard = true } = options;
  const { maxLeaseMs = leaseMs, nodeTimeoutMs = Math.max(50, Math.ceil(leaseMs / 200)) } = options;
  checkLease(of("leaseMs"), leaseMs, { maxLeaseMs, minValidityMs });
  if (nodeTimeoutMs >= leaseMs) {
    throw new InvalidArgumentError(
      `${of("nodeTimeoutMs")} must be less than leaseMs (${leaseMs} ms), best a small part of it; got ${nodeTimeoutMs}`,
    );
  }
  const nodes = nodesOf(of("nodes"), options.nodes);
  const fencing = fencingOf(of("fencing"), options);
  const ofEachNode = {
    url: "redis://localhost",
    leaseMs: maxLeaseMs,
    ...(options.tokenTtlMs !== undefined && { tokenTtlMs: options.tokenTtlMs }),
    ...(options.keyPrefix !== undefined && { keyPrefix: options.keyPrefix }),
  };
  const { tokenTtlMs, keyPrefix } = resolveOptions(ofEachNode, "redLocks");
  return {
    common,
    nodes,
    leaseMs,
    maxLeaseMs,
    nodeTimeoutMs,
    minValidityMs,
    maxHoldMs,
    restartGuard,
    keyPrefix,
    tokenTtlMs,
    fencing,
  };
}

/**
 * Throws for a lease that is longer than the time for which nodes sit out. Also throws for a lease that is too short for
 * `minValidityMs`: no majority could be in time, so it would be asked for without end.
 */
export function checkLease(
  what: string,
  leaseMs: Millis,
  { maxLeaseMs, minValidityMs }: Pick<ResolvedRedLocksOptions, "maxLeaseMs" | "minValidityMs">,
  lockName?: string,
): void {
  const countsMs = Math.max(0, Math.floor(leaseMs - marginMs(leaseMs)));
  let why: string;
  if (leaseMs > maxLeaseMs)
    why = `and maxLeaseMs of redLocks is ${maxLeaseMs}: nodes that come back sit out no more than that`;
  else if (countsMs <= minValidityMs)
    why = `of which at most ${countsMs} ms count, and minValidityMs of redLocks is ${minValidityMs}: no majority is in time for that`;
  else return;
  throw new InvalidArgumentError(`${what} is ${leaseMs}, ${why}`, { backend: "redlock", lockName });
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
  if (given === undefined) throw new InvalidArgumentError(`${what} is undefined`);
  const node: RedLockNode = typeof given === "string" ? { url: given } : given;
  checkObject(what, node);
  checkKnownKeys(what, node, new Set(nodeKeys));
  checkString(`${what}.name`, node.name);
  checkBoolean(`${what}.durable`, node.durable);
  const { name, durable = false, ...access } = node;
  const target = targetOf(access, what);
  const address = target.kind === "single" ? `${target.address.host}:${target.address.port}` : node.url;
  return { name: name ?? address, durable, target };
}

function fencingOf(what: string, { fencing, purpose }: RedLocksOptions): ResolvedRedLocksOptions["fencing"] {
  checkChoice("redLocks: purpose", purpose, ["efficiency", "correctness"]);
  if (typeof fencing !== "function")
    checkChoice(`${what}, unless it is a function,`, fencing, ["none", "write-back"]);
  if (purpose === "correctness" && typeof fencing !== "function") {
    throw new InvalidArgumentError(
      `${what}: purpose "correctness" needs a function that draws tokens from one ordering source, such as a counter in ZooKeeper; votes of nodes have no order by themselves`,
    );
  }
  return fencing ?? "none";
}
