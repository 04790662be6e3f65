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
 * the server's data. A proxy differs in these points:
 *
 * - `move` needs another member of the ensemble, and is refused.
 * - A request that is held at "prep" waits in front of the server, as at "frame", so it does not renew its session.
 * - With `answer` and `unknown-op`, the server gets a harmless read in place of the request. The answer to that read
 *   gives the moment and the zxid; at the server the read counts as a sign of life.
 * - `expire` takes the session over and closes it. The client gets none of the events about the session's own nodes.
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

  /** Ends all faults. */
  clear(): void {
    for (const fault of [...this.#rules]) fault.release();
    for (const refusal of [...this.#refusals]) refusal.release();
  }

  /** For the connections: the rules that take this subject. Each of them counts it. */
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
