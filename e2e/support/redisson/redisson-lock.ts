import type { LineProcess } from "../process/line-process.js";
import { RedissonObject } from "./redisson-object.js";

/** `read` and `write` are the halves of the `RReadWriteLock` of that name. */
export type RedissonLockKind = "plain" | "fair" | "spin" | "read" | "write";

/**
 * Redisson's locks belong to threads. Without a name, each object has a thread of its own. Two objects with one name share a
 * thread.
 */
export interface OnThread {
  readonly thread?: string;
}

export interface RedissonLease {
  /** Without it, the watchdog renews the hold until it is released. */
  readonly leaseMs?: number;
}

export interface RedissonTry extends RedissonLease, OnThread {
  /** Default 0. */
  readonly waitMs?: number;
}

/** What can be taken and given back, which is all that an `RLock` over several names can do. */
export class RedissonHolder extends RedissonObject {
  /** Waits for ever. The request gives up after 60 s, but Redisson does not. */
  async lock({ leaseMs = -1, thread }: RedissonLease & OnThread = {}): Promise<void> {
    await this.askLong("lock", -1, [this.threadName(thread), leaseMs]);
  }

  /** `tryLock()` without times: on a fair lock it leaves no entry in the queue. */
  tryOnce({ thread }: OnThread = {}): Promise<boolean> {
    return this.askWhether("tryOnce", [this.threadName(thread)]);
  }

  /** `tryLock(wait, lease)`. False when not granted in time. */
  async tryLock({ waitMs = 0, leaseMs = -1, thread }: RedissonTry = {}): Promise<boolean> {
    const [granted] = await this.askLong("tryLock", waitMs, [this.threadName(thread), waitMs, leaseMs]);
    return granted === "true";
  }

  /** Rejects with an `IllegalMonitorStateException` when the thread does not hold it. */
  async unlock({ thread }: OnThread = {}): Promise<void> {
    await this.ask("unlock", [this.threadName(thread)]);
  }

  protected threadName(thread: string | undefined): string {
    return thread ?? this.remoteName;
  }
}

/** One `RLock`. Its answers about the lock come from Redis. */
export class RedissonLock extends RedissonHolder {
  readonly #clientId: string;
  readonly #thread: string;

  /** `thread`: the thread that is used where a call names none. */
  constructor(
    lines: LineProcess,
    kind: string,
    remoteName: string,
    clientId: string,
    thread: string = remoteName,
  ) {
    super(lines, kind, remoteName);
    this.#clientId = clientId;
    this.#thread = thread;
  }

  protected override threadName(thread: string | undefined): string {
    return thread ?? this.#thread;
  }

  /** Frees the lock under any holder. False when it was free. */
  forceUnlock(): Promise<boolean> {
    return this.askWhether("forceUnlock");
  }

  isLocked(): Promise<boolean> {
    return this.askWhether("isLocked");
  }

  isHeldByCurrentThread({ thread }: OnThread = {}): Promise<boolean> {
    return this.askWhether("isHeldByCurrentThread", [this.threadName(thread)]);
  }

  holdCount({ thread }: OnThread = {}): Promise<number> {
    return this.askNumber("holdCount", [this.threadName(thread)]);
  }

  /** -2 when the lock is free, -1 when it is held without an end. */
  remainingMs(): Promise<number> {
    return this.askNumber("remainTimeToLive");
  }

  /** The thread's name on the server: client id and thread id. */
  async owner({ thread }: OnThread = {}): Promise<string> {
    return `${this.#clientId}:${(await this.ask("threadId", [this.threadName(thread)]))[0]}`;
  }
}

/** One `RFencedLock`. */
export class RedissonFencedLock extends RedissonLock {
  async lockAndGetToken({ thread }: OnThread = {}): Promise<bigint> {
    const [token = ""] = await this.askLong("lockAndGetToken", -1, [this.threadName(thread)]);
    return BigInt(token);
  }

  /**
   * `null` when not granted in time. Unlike other locks of Redisson, this one throws a `RedisTimeoutException` if the
   * server answers its SUBSCRIBE later than `waitMs`, so that a wait of a few milliseconds fails on a busy machine.
   * Without a wait it does not subscribe.
   */
  async tryLockAndGetToken({ waitMs = 0, leaseMs = -1, thread }: RedissonTry = {}): Promise<bigint | null> {
    const args = [this.threadName(thread), waitMs, leaseMs];
    const [token] = await this.askLong("tryLockAndGetToken", waitMs, args);
    return token === undefined ? null : BigInt(token);
  }

  /** The last token that any client was given; 0 before the first. */
  async token(): Promise<bigint> {
    const [token = ""] = await this.ask("token");
    return BigInt(token);
  }
}

/** One `RReadWriteLock`. Its two halves share a thread where a call names none. */
export class RedissonReadWriteLock {
  readonly read: RedissonLock;
  readonly write: RedissonLock;

  constructor(read: RedissonLock, write: RedissonLock) {
    this.read = read;
    this.write = write;
  }
}
