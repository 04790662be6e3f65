import type { HoldfastError, Millis, Runtime } from "@holdfast/core";
import { type GrantEngine, pause } from "@holdfast/core/internal";
import {
  CreateFlags,
  type OpName,
  parentOf,
  type RequestOf,
  type ResponseOf,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, RequestError, ZooKeeperSession } from "../../session/types.js";
import { missingChroot } from "../create/chroot.js";
import type { CreateSettings } from "../create/create-settings.js";
import { MissingParents } from "../create/missing-parents.js";
import { isFinal, requestFailure } from "../session/failures.js";
import { sendSync } from "../session/sync.js";
import type { SessionContext } from "../session-context.js";
import type { SessionSequence } from "../session-sequence.js";

/** The call that a request belongs to: its words in messages, and how long it waits. */
export interface CallInfo {
  readonly lockName: string;
  readonly path: string;
  /** The call has been answered before and only looks again. It then waits through an outage, as a waiter with a place does. */
  readonly patient: boolean;
}

export interface NewNode {
  readonly path: string;
  readonly data: Uint8Array;
  readonly ephemeral: boolean;
}

/** The answer to one request, whether it succeeded or not. */
export function outcomeOf<K extends OpName>(
  session: ZooKeeperSession,
  op: K,
  request: RequestOf<K>,
): Promise<Outcome<ResponseOf<K>>> {
  return new Promise((resolve) => session.send(op, request, resolve));
}

/** The server's refusal; `null` if the answer never came. */
export function refusalOf(error: RequestError): ZooKeeperError | null {
  return error instanceof ZooKeeperError ? error : null;
}

/**
 * Requests that belong to no lock. They are sent once there is a connection, and wait for it no longer than
 * `connectTimeoutMs`. They are sent again over reconnects and new sessions; the caller decides which requests may be sent
 * twice.
 */
export class RetryingRequests {
  readonly engine: GrantEngine;
  readonly sessions: SessionSequence;
  readonly settings: CreateSettings;
  readonly #turns = new Map<string, Promise<unknown>>();
  #chrootSeen = false;

  constructor(engine: GrantEngine, sessions: SessionSequence, settings: CreateSettings) {
    this.engine = engine;
    this.sessions = sessions;
    this.settings = settings;
  }

  get runtime(): Runtime {
    return this.settings.runtime;
  }

  pathOf(name: string): string {
    return this.settings.paths.pathOf(name);
  }

  /** The context of the present session, once that is connected. */
  async connected(call: CallInfo): Promise<SessionContext> {
    const { engine, sessions } = this;
    if (engine.closed) throw engine.closedError(call.lockName);
    if (sessions.state !== "connected") await (call.patient ? engine.contactRegained() : engine.contact());
    return sessions.context;
  }

  /**
   * Runs `attempt` until the server has answered it. The attempt may be made again as a whole; what must not be sent twice
   * it looks for itself. Rejects with a `HoldfastError` when the server refuses for good.
   */
  async repeat<T>(call: CallInfo, attempt: (context: SessionContext) => Promise<Outcome<T>>): Promise<T> {
    const startedMs = this.runtime.nowMs();
    for (let tries = 1; ; tries++) {
      const context = await this.connected(call);
      const outcome = await attempt(context);
      if (outcome.ok) return outcome.value;
      const { error } = outcome;
      if (isFinal(error)) throw this.failure(call, error);
      // After the first lost answer the request is repeated as soon as there is a connection. After that it waits,
      // because the link may break again and again.
      if (refusalOf(error) !== null || tries > 1) await this.rest(call, tries, startedMs, error);
    }
  }

  /**
   * Call it when a node is missing, since the whole chroot may be missing. Rejects if it is, because the chroot is then
   * wrong.
   */
  async absent(call: CallInfo): Promise<null> {
    const { chroot } = this.settings.paths;
    if (chroot === "" || this.#chrootSeen) return null;
    const there = await this.repeat(call, async ({ session }) =>
      orAbsent(await outcomeOf(session, "exists", { path: chroot, watch: false })),
    );
    if (there === null) throw missingChroot(chroot, this.sessions.context.session, call.lockName);
    this.#chrootSeen = true;
    return null;
  }

  /** The node as the leader has it, read behind a `sync`. `null` if there is none. */
  readSynced(call: CallInfo): Promise<ResponseOf<"getData"> | null> {
    return this.read(call, sendSync);
  }

  /** The node as this server has it; `null` if there is none. `ahead` sends a `sync` in the same write, in front of the read. */
  async read(call: CallInfo, ahead?: typeof sendSync): Promise<ResponseOf<"getData"> | null> {
    const found = await this.repeat(call, async ({ session }) => {
      const sync = ahead?.(session);
      const outcome = await outcomeOf(session, "getData", { path: call.path, watch: false });
      return sync?.failure ? { ok: false, error: sync.failure } : orAbsent(outcome);
    });
    return found ?? (await this.absent(call));
  }

  /**
   * Makes a node, and its missing parents as containers, which takes a second flight. `behind` sends requests in the same
   * write as each create. The outcome is never NoNode: the retry policy tries again, and the call rejects when the chroot
   * is missing.
   */
  async create(
    { session }: SessionContext,
    call: CallInfo,
    { path, data, ephemeral }: NewNode,
    behind: () => void = () => {},
  ): Promise<Outcome<ResponseOf<"create2">>> {
    const startedMs = this.runtime.nowMs();
    const levels = this.settings.paths.levelsOf(parentOf(path));
    const flags = ephemeral ? CreateFlags.ephemeral : CreateFlags.persistent;
    for (let tries = 1; ; tries++) {
      // The ACL function is the caller's; it is called before anything is sent.
      const acl = this.settings.aclOf(path);
      const parents = tries === 1 ? null : new MissingParents(this.settings, levels);
      parents?.send(session);
      const sent = outcomeOf(session, "create2", { path, data, acl, flags });
      behind();
      const made = await sent;
      if (made.ok || !saysNoNode(made.error)) return made;
      // The second try makes the parents too, and follows at once.
      if (parents === null) continue;
      const refusal = parents.refusal(session, call.lockName);
      if (refusal !== null) throw refusal;
      await this.rest(call, tries, startedMs, made.error);
    }
  }

  /** Waits as the retry policy says; rejects with the failure when the policy stops. */
  async rest(call: CallInfo, tries: number, startedMs: Millis, error: RequestError): Promise<void> {
    const failure = this.failure(call, error);
    const delayMs = this.settings.retry.next(tries, this.runtime.nowMs() - startedMs, failure);
    if (delayMs === null) throw failure;
    await this.pause(delayMs);
  }

  pause(delayMs: Millis): Promise<void> {
    return pause(this.runtime, delayMs, { ref: true }).over;
  }

  failure(call: CallInfo, error: Error): HoldfastError {
    const { session } = this.sessions.context;
    return requestFailure(`${call.lockName} at ${call.path}`, error, session, call.lockName);
  }

  /**
   * Makes updates of one path from this provider take turns, because they would otherwise refuse each other by the
   * version. If a call has waited for the connection in vain, those queued behind it reject with it: `connectTimeoutMs`
   * counts for the outage, and not once more for each of them. Calls that come after that wait anew.
   */
  inTurn<T>(call: CallInfo, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(call.path) ?? Promise.resolve();
    const inVain = (error: unknown): never => {
      this.#turns.delete(call.path);
      throw error;
    };
    const ready = before.then(() => this.connected(call).catch(inVain));
    const result = ready.then(work);
    // The caller gets the error of `work`. Calls behind it only wait for its end.
    const ended = ready.then(() => result.catch(() => {}));
    this.#turns.set(call.path, ended);
    const forget = () => this.#turns.get(call.path) === ended && this.#turns.delete(call.path);
    void ended.then(forget, forget);
    return result;
  }
}

/** The same outcome, with `null` for a node that is not there. */
export function orAbsent<T>(outcome: Outcome<T>): Outcome<T | null> {
  return !outcome.ok && saysNoNode(outcome.error) ? { ok: true, value: null, zxid: 0n } : outcome;
}
