/**
 * A process that takes locks and works under them on command. It is steered by lines, as `contender.ts` is, and started by
 * `fault-holder-process.ts`. All times are nanoseconds of CLOCK_MONOTONIC, which every process of the machine shares.
 */
import type { LockHandle, LockProvider } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { answerLines, say } from "../process/answer-lines.js";

const writeEveryMs = 5;

class Holder {
  readonly locks: LockProvider;
  readonly told: string[] = [];
  handle: LockHandle | null = null;
  path = "";
  writes = 0;
  lastWriteNs = 0n;
  firstThrowNs = 0n;
  thrown = "";

  constructor(connect: string, sessionTimeoutMs: number) {
    this.locks = zookeeperLocks({ connect, sessionTimeoutMs });
    for (const type of ["uncertain", "recovered", "lost"] as const) {
      this.locks.events.on(type, () => this.told.push(type));
    }
  }

  async hold(path: string): Promise<string> {
    this.path = path;
    this.handle = await this.locks.mutex(path).acquire({ waitMs: 10_000 });
    // The signal has a listener, as it would have in a service.
    this.handle.lost.addEventListener("abort", () => {});
    return String(this.handle.token);
  }

  /** One write to the protected resource, unless `assertHeld()` throws. The time is taken before the check. */
  write(): string {
    const ns = process.hrtime.bigint();
    try {
      (this.handle as LockHandle).assertHeld();
    } catch (error) {
      if (this.thrown === "") {
        this.thrown = (error as Error).name;
        this.firstThrowNs = ns;
      }
      return (error as Error).name;
    }
    this.writes += 1;
    this.lastWriteNs = ns;
    return "written";
  }

  journal(): string[] {
    const { told, writes, lastWriteNs, firstThrowNs, thrown } = this;
    return [told.join(" "), String(writes), String(lastWriteNs), String(firstThrowNs), thrown];
  }

  async holdAgain(): Promise<string> {
    const handle = await this.locks.mutex(this.path).acquire({ waitMs: 10_000 });
    const token = String(handle.token);
    await handle.release();
    return token;
  }
}

/** Waits for a lock, and notes when it was granted. */
class Waiter {
  readonly #locks: LockProvider;
  /** It knows its place, and watches the node that it waits for. */
  queued = false;
  requeued = 0;
  grantedNs = 0n;
  token = 0n;

  constructor(connect: string, sessionTimeoutMs: number, path: string) {
    this.#locks = zookeeperLocks({ connect, sessionTimeoutMs });
    this.#locks.events.on("request-settled", ({ op, outcome }) => {
      this.queued ||= op === "setWatches" && outcome === "ok";
    });
    this.#locks.events.on("requeued", () => {
      this.requeued += 1;
    });
    this.#locks.events.on("acquire-settled", ({ outcome, token }) => {
      if (outcome !== "granted") return;
      this.grantedNs = process.hrtime.bigint();
      this.token = token ?? 0n;
    });
    this.#locks
      .mutex(path)
      .acquire({ waitMs: 60_000 })
      .catch((error: unknown) => {
        say("wait-failed", String(error));
      });
  }

  report(): string[] {
    return [this.queued ? "queued" : "", String(this.requeued), String(this.grantedNs), String(this.token)];
  }

  close(): Promise<unknown> {
    return this.#locks.close();
  }
}

const holders: Holder[] = [];
const waiters: Waiter[] = [];

async function run(command: string, args: readonly string[]): Promise<string[]> {
  if (command === "hold") {
    const [connect = "", sessionTimeoutMs = "", ...paths] = args;
    const tokens = paths.map(async (path) => {
      const holder = new Holder(connect, Number(sessionTimeoutMs));
      holders.push(holder);
      return await holder.hold(path);
    });
    return await Promise.all(tokens);
  }
  if (command === "work") {
    setInterval(() => {
      for (const holder of holders) holder.write();
    }, writeEveryMs);
    return [];
  }
  if (command === "block") {
    const beganNs = process.hrtime.bigint();
    // This is in the pipe before the event loop stands still.
    say("blocked");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(args[0]));
    // This is the same tick: no timer has run and no byte has been read since.
    const resumedNs = process.hrtime.bigint();
    const outcomes = holders.map((holder) => holder.write());
    return [String(beganNs), String(resumedNs), ...outcomes];
  }
  if (command === "wait") {
    const [connect = "", sessionTimeoutMs = "", ...paths] = args;
    for (const path of paths) waiters.push(new Waiter(connect, Number(sessionTimeoutMs), path));
    return [];
  }
  if (command === "waiters") return waiters.flatMap((waiter) => waiter.report());
  if (command === "journal") return holders.flatMap((holder) => holder.journal());
  if (command === "again") return await Promise.all(holders.map((holder) => holder.holdAgain()));
  if (command === "close") {
    await Promise.all([...holders.map(({ locks }) => locks.close()), ...waiters.map((it) => it.close())]);
    return [];
  }
  throw new Error(`no such command: ${command}`);
}

answerLines((command, ...args) => run(command, args));
