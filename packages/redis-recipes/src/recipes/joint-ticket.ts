import {
  BackendError,
  type Grant,
  type GrantRequest,
  InvalidArgumentError,
  LayoutConflictError,
  type Ticket,
  UnsupportedError,
} from "@holdfast/core";
import { nothingDone } from "../client/errors.js";
import type { Answer } from "../client/redis-line.js";
import { type AcquireAllAnswer, mutexAcquireAll } from "../scripts/mutex/acquire-all.js";
import { confirmHold, trusts } from "./confirmation.js";
import type { RedisDesk } from "./desk.js";
import { cancelStanding, enterHold, type HowGranted, releaseHold, type Standee } from "./exclusive-hold.js";
import type { ExclusiveLock } from "./exclusive-lock.js";
import { checkAcknowledged, type RedisHold } from "./redis-hold.js";
import { marginMs } from "./server-clock.js";
import { conflictError, lateError } from "./stand-errors.js";

/** A lock with a queue of ours, and what is asked of it. */
export interface JointPart {
  readonly lock: ExclusiveLock;
  readonly request: GrantRequest;
}

interface Part extends JointPart, Standee {}

/**
 * Asks for several mutexes at once, all or none, by one script: locks of one server, or of one slot. Nothing of it ever waits at the
 * server. Throws `InvalidArgumentError` for no locks and for the same one twice, `UnsupportedError` for requests that may wait:
 * places in several queues at once are what deadlocks are made of.
 */
export function requestJointly(desk: RedisDesk, parts: readonly JointPart[]): Ticket<readonly Grant[]> {
  if (parts.length === 0) {
    throw new InvalidArgumentError("several locks at once: give at least one", { backend: "redis" });
  }
  const keys = new Set<string>();
  for (const { lock, request } of parts) {
    if (keys.has(lock.key)) {
      throw new InvalidArgumentError(`several locks at once: "${lock.name}" is there twice`, {
        lockName: lock.name,
      });
    }
    keys.add(lock.key);
    if (request.mayWait) {
      throw new UnsupportedError("several locks on Redis can be taken at once, but not waited for at once", {
        backend: "redis",
        lockName: lock.name,
      });
    }
  }
  return new JointTicket(desk, parts);
}

/** One request for several locks, each with an owner of its own. */
class JointTicket implements Ticket<readonly Grant[]> {
  readonly granted: Promise<readonly Grant[] | null>;
  readonly #desk: RedisDesk;
  readonly #parts: readonly Part[];
  readonly #settled: Promise<unknown>;
  #roundTrips = 1;
  #over = false;
  /** Something of these owners may be at the server. */
  #mayBeThere = false;
  /** As in `RedisDesk.runLast`. */
  #lateUntilMs: number | null = null;
  #holds: readonly RedisHold[] = [];
  #cancelled: Promise<void> | undefined;

  constructor(desk: RedisDesk, parts: readonly JointPart[]) {
    this.#desk = desk;
    this.#parts = parts.map(({ lock, request }) => ({
      lock,
      request,
      owner: desk.freshOwner(),
      leaseMs: Math.max(1, Math.floor(request.leaseMs)),
    }));
    // For theft and wishes that concern the holds to come.
    desk.grantChannel.listen();
    this.granted = this.#run();
    this.#settled = this.granted.catch(() => {});
  }

  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel();
    return this.#cancelled;
  }

  async #cancel(): Promise<void> {
    this.#over = true;
    for (const hold of this.#holds) hold.abandon();
    // No order between a request that waits for replicas and one that does not; and whether there is anything to take back.
    await this.#settled;
    if (!this.#mayBeThere) return;
    const ends = await Promise.allSettled(
      this.#parts.map((part) => cancelStanding(this.#desk, part, this.#lateUntilMs)),
    );
    const failed = ends.find((end) => end.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #run(): Promise<readonly Grant[] | null> {
    const { grantChannel } = this.#desk;
    if (this.#parts.some(({ request }) => request.revocable)) await grantChannel.heard();
    if (this.#over) return null;
    this.#mayBeThere = true;
    const answer = await this.#ask();
    const { reply } = answer;
    if (reply.status !== "granted") this.#mayBeThere = false;
    if (this.#over) return null;
    switch (reply.status) {
      case "granted": {
        checkAcknowledged(this.#desk, answer.acknowledged, this.#names);
        const found = trusts(this.#desk, answer) ? told(answer, reply) : await this.#confirmed();
        // Asked for, and decided against while a renewal was under way.
        if (this.#over) return null;
        this.#holds = this.#parts.map((part, i) => this.#enter(part, found[i] as Found));
        return this.#holds;
      }
      case "busy":
        this.#desk.sawToken((this.#parts[reply.index] as Part).lock.key, reply.lastToken);
        return null;
      case "late":
        throw lateError(this.#names);
      case "conflict":
        throw conflictError(reply, (this.#parts[reply.index] as Part).request);
    }
  }

  async #ask(): Promise<Answer<AcquireAllAnswer>> {
    const desk = this.#desk;
    const { acks, waitTimeoutMs, tokenTtlMs } = desk.settings;
    const { key } = (this.#parts[0] as Part).lock;
    const notAfterMs = desk.notAfterMs(desk.line.masterOf(key), acks > 0 ? 2 * waitTimeoutMs : 0);
    const entries = this.#parts.map(({ owner, leaseMs, lock }) => ({
      owner,
      leaseMs,
      floor: desk.floorOf(lock.key),
    }));
    const call = {
      script: mutexAcquireAll,
      keys: this.#parts.flatMap(({ lock }) => lock.keys),
      args: mutexAcquireAll.args({ notAfterMs, tokenTtlMs }, entries),
    };
    // Rule 11: WAIT behind every script that may grant.
    const options = acks > 0 ? { wait: { replicas: acks, timeoutMs: waitTimeoutMs } } : {};
    try {
      return await desk.run(call, options);
    } catch (error) {
      if (nothingDone(error) || error instanceof LayoutConflictError) this.#mayBeThere = false;
      this.#lateUntilMs = desk.lateUntilMs(error, notAfterMs);
      throw error;
    }
  }

  /** Rule 1: what was asked before a step of the server's clock was noticed says nothing of how long the holds last. */
  async #confirmed(): Promise<readonly Found[]> {
    this.#roundTrips++;
    return await Promise.all(
      this.#parts.map(async ({ lock, owner, leaseMs }) => {
        const found = await confirmHold(this.#desk, lock, owner, leaseMs);
        if (found !== null) return found;
        throw new BackendError("granted, and no renewal could confirm it", {
          backend: "redis",
          lockName: lock.name,
        });
      }),
    );
  }

  #enter(part: Part, found: Found): RedisHold {
    const how = { ...found, roundTrips: this.#roundTrips, contended: false, claimed: false };
    return enterHold(this.#desk, part, part.request, how, () => releaseHold(this.#desk, part));
  }

  get #names(): string {
    return this.#parts.map(({ lock }) => lock.name).join(", ");
  }
}

type Found = Pick<HowGranted, "token" | "untilMs" | "runId" | "askedMs">;

function told(
  { sentMs, runId }: Answer<AcquireAllAnswer>,
  { grants }: Extract<AcquireAllAnswer, { status: "granted" }>,
): readonly Found[] {
  return grants.map(({ token, pttlMs }) => ({
    token,
    untilMs: sentMs + pttlMs - marginMs(pttlMs),
    runId,
    askedMs: sentMs,
  }));
}
