import {
  type Acquirable,
  type AcquireOptions,
  type FencingToken,
  HoldfastError,
  type LockProvider,
  type Millis,
  type Mutex,
  type ReleaseOutcome,
  type Semaphore,
  type WriteHandle,
} from "@holdfast/core";
import { namesOf } from "../names.js";
import type { WorkerKey } from "../protocol.js";
import type { Ask, Client, Grant, RecipeContext, ReleaseEnd } from "../recipe.js";

export interface ProviderClientOptions {
  /** Makes the mutex of keys of kind `fair`; default `mutex`, which is fair on ZooKeeper. */
  fair?(name: string): Mutex;
  /** Makes the mutex of all other exclusive kinds; default `mutex`. */
  mutex?(name: string): Takes;
  /** Makes the semaphore; default `semaphore`. */
  semaphore?(name: string, limit: number): Semaphore;
  /**
   * Whether the owners of a kept lock share a token. The resource then gets one rising number made of token and turn.
   * Default `false`.
   */
  turns?: boolean;
}

/** The members that all handles have; handles of permits have no mode. */
interface Handle {
  readonly token: FencingToken | null;
  readonly turn?: number;
  readonly lost: AbortSignal;
  remainingMs(): Millis;
  release(): Promise<ReleaseOutcome>;
}

/** Makes a client for the runner from one of our providers, with one kind of lock for each kind of key. */
export function providerClient(
  provider: LockProvider,
  context: Pick<RecipeContext, "tell">,
  options: ProviderClientOptions = {},
): Client {
  const { events } = provider;
  events.on("requeued", ({ name, reason }) => context.tell({ f: "requeued", name, cause: reason }));
  events.on("uncertain", ({ name }) => context.tell({ f: "uncertain", name }));
  events.on("recovered", ({ name }) => context.tell({ f: "recovered", name }));
  return {
    acquire: (ask) => acquire(provider, ask, options),
    meaning,
    close: async () => {
      await provider.close();
    },
  };
}

async function acquire(
  provider: LockProvider,
  ask: Ask,
  options: ProviderClientOptions,
): Promise<Grant | null> {
  const { key, label, signal, waitMs, permits, thread } = ask;
  const { name } = key;
  const how: AcquireOptions = { label, signal, ...(waitMs === undefined ? {} : { waitMs }) };
  switch (key.kind) {
    case "semaphore": {
      const semaphore = (options.semaphore ?? provider.semaphore.bind(provider))(name, key.limit ?? 1);
      const asked = { ...how, permits };
      const handle = await (ask.once
        ? semaphore.tryAcquire({ ...asked, waitMs: 0 })
        : semaphore.acquire(asked));
      return handle === null ? null : grantOf(handle, options);
    }
    case "reentrant": {
      const lock = provider.reentrantMutex(name);
      const owner = { id: thread };
      const handle = await lock.acquire({ ...how, owner });
      return { ...grantOf(handle, options, () => lock.holdCount(owner)), count: lock.holdCount(owner) };
    }
    case "read-write": {
      const { read, write } = provider.readWriteLock(name);
      if (ask.mode === "read") return grantOf(await read.acquire(how), options);
      return writeGrantOf(await write.acquire(how), options);
    }
    default: {
      const handle = await take(await lockOf(provider, key, options), ask.once, how);
      return handle === null ? null : grantOf(handle, options);
    }
  }
}

/**
 * The group option `keepMs`: for how long a client keeps a lock that was given back, at most `mostMs`, to lend it to
 * its next owner. Unset: locks are not kept.
 */
export function keeping(
  { keepMs }: RecipeContext["options"],
  mostMs: Millis = Infinity,
): { keepMs?: Millis; maxKeepMs?: Millis } {
  if (keepMs === undefined) return {};
  return { keepMs: Math.min(Number(keepMs), mostMs), maxKeepMs: Number(keepMs) };
}

/** A lock that can be acquired, once or with a wait. */
export type Takes = Pick<Acquirable, "acquire" | "tryAcquire">;

/** A leader election as a lock: the term of office is the hold. A candidate that is not elected at once fails with a timeout. */
export function electionOf(provider: LockProvider, name: string): Takes {
  const election = provider.leaderElection(name);
  return { acquire: (how) => election.campaign(how), tryAcquire: (how) => election.campaign(how) };
}

async function lockOf(
  provider: LockProvider,
  key: WorkerKey,
  { fair, mutex }: ProviderClientOptions,
): Promise<Takes> {
  const plain = mutex ?? ((name: string) => provider.mutex(name));
  if (key.kind === "multi") {
    // This module loads all backends, which is half of what a worker loads, so only the few workers that need it load it.
    const { multiLock } = await import("@holdfast/multi-lock");
    return multiLock(namesOf(key).map((name) => provider.mutex(name)));
  }
  return key.kind === "fair" && fair !== undefined ? fair(key.name) : plain(key.name);
}

async function take(lock: Takes, once: boolean, how: AcquireOptions): Promise<Handle | null> {
  return once ? await lock.tryAcquire({ ...how, waitMs: 0 }) : await lock.acquire(how);
}

/** A bound above every value of `LockHandle.turn`. */
const turns = 65_536n;

function grantOf(handle: Handle, options: ProviderClientOptions, count?: () => number): Grant {
  const { token, turn = 0 } = handle;
  return {
    token: options.turns === true && token !== null ? token * turns + BigInt(turn) : token,
    remainingMs: () => handle.remainingMs(),
    lost: handle.lost,
    release: async () => endOf(await handle.release(), count?.()),
  };
}

function writeGrantOf(handle: WriteHandle, options: ProviderClientOptions): Grant {
  return {
    ...grantOf(handle, options),
    downgrade: async () => grantOf(await handle.downgrade(), options),
  };
}

function endOf(outcome: ReleaseOutcome, count: number | undefined): ReleaseEnd {
  switch (outcome) {
    case "released":
    case "kept":
    case "still-held":
      return {
        end: "ok",
        ...(count === undefined ? {} : { count }),
        ...(outcome === "kept" ? { kept: true } : {}),
      };
    case "lost":
      return { end: "fail", why: "it was lost" };
    case "unconfirmed":
      return { end: "info", why: "no answer" };
  }
}

/** A request that was refused or given up took nothing. After any other error the lock may have been taken. */
function meaning(error: unknown): "fail" | "info" | "broken" {
  if (!(error instanceof HoldfastError)) return error instanceof TypeError ? "broken" : "fail";
  switch (error.code) {
    case "HF_ACQUIRE_TIMEOUT":
    case "HF_EVICTED":
      return "fail";
    case "HF_INVALID_ARGUMENT":
    case "HF_LAYOUT_CONFLICT":
    case "HF_UNSUPPORTED":
    case "HF_DEADLOCK":
      return "broken";
    default:
      return "info";
  }
}
