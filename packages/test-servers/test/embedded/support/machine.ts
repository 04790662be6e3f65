import {
  decodeResponse,
  encodeRequest,
  errorCodes,
  type OpName,
  opCodes,
  type RequestOf,
  type ResponseOf,
} from "@holdfast/zk-protocol";
import type { Identity } from "../../../src/embedded/acl.js";
import { ManualClock } from "../../../src/embedded/clock.js";
import { behaviourOf, type Compat } from "../../../src/embedded/compat.js";
import { process } from "../../../src/embedded/processor.js";
import { Random } from "../../../src/embedded/random.js";
import type { Session } from "../../../src/embedded/sessions.js";
import { type Client, State } from "../../../src/embedded/state.js";
import type { Notice } from "../../../src/embedded/watches.js";

/** A client of the state machine alone, without a socket or a handshake. */
export class Party implements Client {
  readonly sessionId: bigint;
  readonly session: Session;
  readonly identities: Identity[] = [{ scheme: "ip", id: "127.0.0.1" }];
  readonly view = undefined;
  readonly losesWatch = false;
  readonly notices: Notice[] = [];
  readonly #state: State;

  constructor(state: State, timeoutMs: number) {
    this.#state = state;
    this.session = state.openSession(timeoutMs);
    this.sessionId = this.session.id;
  }

  deliver(notice: Notice): void {
    this.notices.push(notice);
  }

  get events(): string[] {
    return this.notices.map(({ type, path }) => `${type} ${path}`);
  }

  ask<K extends OpName>(
    op: K,
    request: RequestOf<K>,
  ): { err: number; zxid: bigint; response?: ResponseOf<K> } {
    const { err, zxid, body } = process(this.#state, this, 1, opCodes[op], encodeRequest(op, request));
    if (err !== errorCodes.Ok) return { err, zxid };
    return { err, zxid, response: decodeResponse(op, body ?? Buffer.alloc(0)) };
  }

  /** Like `ask`, but an error answer fails the test. */
  get<K extends OpName>(op: K, request: RequestOf<K>): NonNullable<ResponseOf<K>> {
    const { err, response } = this.ask(op, request);
    if (err !== errorCodes.Ok) throw new Error(`${op} answered ${err}`);
    return response as NonNullable<ResponseOf<K>>;
  }
}

export interface Machine {
  readonly clock: ManualClock;
  readonly state: State;
  party(timeoutMs?: number): Party;
}

export function machine(options: { compat?: Compat; seed?: number; extendedTypes?: boolean } = {}): Machine {
  const clock = new ManualClock();
  const state = new State({
    behaviour: behaviourOf(options.compat ?? "3.8"),
    clock,
    random: new Random(options.seed ?? 1),
    tickMs: 500,
    minTimeoutMs: 1_000,
    maxTimeoutMs: 10_000,
    extendedTypes: options.extendedTypes ?? true,
  });
  return { clock, state, party: (timeoutMs = 5_000) => new Party(state, timeoutMs) };
}

/** Everything that a client could read, in a fixed order. */
export function picture(state: State): unknown[] {
  return [...state.tree.nodes()]
    .map((node) => ({
      path: node.path,
      kind: node.kind,
      data: node.data === null ? null : Buffer.from(node.data).toString("hex"),
      acl: node.acl,
      stat: node.stat(),
      children: [...node.children].sort(),
      created: node.created,
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
