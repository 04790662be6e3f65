import type { FaultAction, FaultHit } from "../embedded/faults/actions.js";
import { Fault } from "../embedded/faults/fault.js";
import type { Release } from "../embedded/faults/faults.js";
import type { FaultMatch, FaultSubject } from "../embedded/faults/match.js";
import { TestServerError } from "../errors.js";
import { expireSession } from "../zookeeper/expire-session.js";
import type { FaultRules } from "./fault-rules.js";

/** A fault that happens to a request, and how often it has happened by then. */
export interface Pending {
  readonly fault: Fault;
  readonly hit: FaultHit;
}

/**
 * The faults of the embedded server, in front of a real one: same rules, same actions, same effect at the client and in
 * the server's data. Where a proxy cannot do the same:
 *
 * - `move` needs a member of its own, and is refused.
 * - A request that is held at "prep" waits in front of the server, as at "frame", so it does not renew its session.
 * - `answer` and `unknown-op` lead a harmless read to the server in place of the request, whose answer gives the
 *   moment and the zxid; it counts at the server as a sign of life.
 * - `expire` takes the session over and closes it. Of the events about the session's own nodes none comes.
 * - `forMs` runs on the clock of this process.
 */
export class ProxyFaults implements FaultRules {
  readonly #target: () => { readonly host: string; readonly port: number };
  readonly #rules = new Set<Fault>();
  readonly #refusals = new Set<Release>();

  /** `target`: the server that the proxy leads to now. */
  constructor(target: () => { readonly host: string; readonly port: number }) {
    this.#target = target;
  }

  /** Whether any fault is set. */
  get active(): boolean {
    return this.#rules.size > 0 || this.#refusals.size > 0;
  }

  /**
   * Sets a rule, as `Faults.on`.
   * @throws TestServerError for `move`.
   */
  on(match: FaultMatch, action: FaultAction): Fault {
    if (action.do === "move") {
      throw new TestServerError(`a proxy cannot do "move": it takes another member of the ensemble`);
    }
    const fault = new Fault(match, action, (done) => this.#rules.delete(done));
    this.#rules.add(fault);
    return fault;
  }

  /** Refuses new connections until released, or for `forMs` milliseconds. */
  refuseConnections(options: { readonly forMs?: number } = {}): Release {
    const refusal: Release = { release: () => this.#refusals.delete(refusal) };
    this.#refusals.add(refusal);
    if (options.forMs !== undefined) setTimeout(() => refusal.release(), options.forMs).unref();
    return refusal;
  }

  /** Whether new connections are refused now. */
  get refusing(): boolean {
    return this.#refusals.size > 0;
  }

  /** Takes all faults back. */
  clear(): void {
    for (const fault of [...this.#rules]) fault.release();
    for (const refusal of [...this.#refusals]) refusal.release();
  }

  /** For the connections: the rules that take this, counted. */
  takers(subject: FaultSubject, xid: number, zxid: bigint): Pending[] {
    const pending: Pending[] = [];
    for (const fault of this.#rules) {
      if (!fault.takes(subject)) continue;
      const { target, session, paths } = subject;
      const hit = { target, session, paths, xid, zxid };
      fault.happened(hit);
      pending.push({ fault, hit });
    }
    return pending;
  }

  /** For the connections: ends a session at the server. */
  expire(session: { readonly sessionId: bigint; readonly password: Uint8Array }): Promise<void> {
    const { sessionId, password } = session;
    const { host, port } = this.#target();
    return expireSession({ connectString: `${host}:${port}`, sessionId, password });
  }
}
