import type { LineProcess } from "../process/line-process.js";
import type {
  RedissonContention,
  RedissonExclusive,
  RedissonReadWriteContention,
  RedissonSemaphoreContention,
  TurnsHad,
} from "./redisson-contention.js";
import { RedissonLatch } from "./redisson-latch.js";
import {
  RedissonFencedLock,
  RedissonHolder,
  RedissonLock,
  type RedissonLockKind,
  RedissonReadWriteLock,
} from "./redisson-lock.js";
import { answerWithinMs, type RedissonObject } from "./redisson-object.js";
import { RedissonPermitSemaphore } from "./redisson-permit-semaphore.js";
import { RedissonSemaphore } from "./redisson-semaphore.js";
import { type RedissonClientOptions, settingsOf } from "./redisson-settings.js";

export type { RedissonClientOptions } from "./redisson-settings.js";

/** One `RedissonClient`. */
export class RedissonClient {
  readonly #lines: LineProcess;
  readonly #name: string;
  readonly #onClose: () => void;
  #id = "";
  #lastObject = 0;

  constructor(lines: LineProcess, name: string, onClose: () => void) {
    this.#lines = lines;
    this.#name = name;
    this.#onClose = onClose;
  }

  async start(options: RedissonClientOptions): Promise<void> {
    [this.#id = ""] = await this.#lines.request(
      "connect",
      [this.#name, ...settingsOf(options)],
      answerWithinMs,
    );
  }

  /** A UUID: the first part of each of its owners. */
  get id(): string {
    return this.#id;
  }

  /** A new `RLock` object. */
  lock(name: string, kind: RedissonLockKind = "plain"): Promise<RedissonLock> {
    return this.#lock(kind, name);
  }

  /** A new `RFencedLock` object. */
  async fencedLock(name: string): Promise<RedissonFencedLock> {
    const remoteName = await this.#new("fencedLock", name);
    return new RedissonFencedLock(this.#lines, "fencedLock", remoteName, this.#id);
  }

  /** A new `RReadWriteLock` object. */
  async readWriteLock(name: string): Promise<RedissonReadWriteLock> {
    const read = await this.#lock("read", name);
    return new RedissonReadWriteLock(read, await this.#lock("write", name, read.remoteName));
  }

  /** A new multi lock object over plain locks. */
  multiLock(names: readonly string[]): Promise<RedissonHolder> {
    return this.#make(RedissonHolder, "multiLock", ...names);
  }

  /** A new `RedissonRedLock` object: the plain lock of one name at the server of each client. A majority of them is enough. */
  redLock(name: string, others: readonly RedissonClient[]): Promise<RedissonHolder> {
    return this.#make(RedissonHolder, "redLock", name, ...others.map((client) => client.#name));
  }

  /** A new `RSemaphore` object. */
  semaphore(name: string): Promise<RedissonSemaphore> {
    return this.#make(RedissonSemaphore, "semaphore", name);
  }

  /** A new `RPermitExpirableSemaphore` object. */
  permitSemaphore(name: string): Promise<RedissonPermitSemaphore> {
    return this.#make(RedissonPermitSemaphore, "permitSemaphore", name);
  }

  /** A new `RCountDownLatch` object. */
  latch(name: string): Promise<RedissonLatch> {
    return this.#make(RedissonLatch, "latch", name);
  }

  /**
   * See `RedissonContender.java`: again and again it acquires, adds one to the counter file, writes a line to the log, and
   * releases.
   */
  async contend(
    contention: RedissonContention,
    withinMs: number,
    kind: RedissonExclusive = "plain",
  ): Promise<TurnsHad> {
    const { name, counterFile, logFile, grants, forMs = withinMs, holdMs = 0, leaseMs = -1 } = contention;
    const numbers = [grants, forMs, holdMs, leaseMs].map(String);
    const args = [this.#name, kind, name, counterFile, logFile, ...numbers, contention.label];
    const [had, longestWaitMs] = await this.#lines.request("contend", args, withinMs);
    return { grants: Number(had), longestWaitMs: Number(longestWaitMs) };
  }

  /** See `RedissonSharingContender.java`. Rejects at the first violation that it sees. */
  async contendSemaphore(
    contention: RedissonSemaphoreContention,
    withinMs: number,
    kind: "semaphore" | "permitSemaphore" = "semaphore",
  ): Promise<{ readonly mostTaken: number }> {
    const { name, limit, folder, grants, mostAtOnce = 1, label } = contention;
    const args = [this.#name, kind, name, String(limit), folder, String(grants), String(mostAtOnce), label];
    const [most] = await this.#lines.request("contendSemaphore", args, withinMs);
    return { mostTaken: Number(most) };
  }

  /** See `RedissonSharingContender.java`. Rejects at the first violation that it sees. */
  async contendReadWrite(
    contention: RedissonReadWriteContention,
    withinMs: number,
  ): Promise<{ readonly writes: number; readonly mostReaders: number }> {
    const { name, counterFile, folder, turns, writeEvery, downgrade = false, label } = contention;
    const numbers = [turns, writeEvery, downgrade].map(String);
    const args = [this.#name, name, counterFile, folder, ...numbers, label];
    const [writes, most] = await this.#lines.request("contendReadWrite", args, withinMs);
    return { writes: Number(writes), mostReaders: Number(most) };
  }

  /** `shutdown`: ends renewals and connections. What the client holds stays until the lease is over. */
  async close(): Promise<void> {
    await this.#lines.request("close", [this.#name], answerWithinMs);
    this.#onClose();
  }

  async #lock(kind: RedissonLockKind, name: string, thread?: string): Promise<RedissonLock> {
    return new RedissonLock(this.#lines, "lock", await this.#new("lock", kind, name), this.#id, thread);
  }

  async #make<T extends RedissonObject>(
    Kind: new (lines: LineProcess, kind: string, remoteName: string) => T,
    kind: string,
    ...args: string[]
  ): Promise<T> {
    return new Kind(this.#lines, kind, await this.#new(kind, ...args));
  }

  /** Makes a new object, and resolves to the name by which the JVM knows it. */
  async #new(kind: string, ...args: string[]): Promise<string> {
    this.#lastObject += 1;
    const remoteName = `${this.#name}/${kind}-${this.#lastObject}`;
    await this.#lines.request(`${kind}.new`, [remoteName, this.#name, ...args], answerWithinMs);
    return remoteName;
  }
}
