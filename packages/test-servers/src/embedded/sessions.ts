import { createHash, timingSafeEqual } from "node:crypto";
import { passwordLength } from "@holdfast/zk-protocol";

export interface Session {
  readonly id: bigint;
  readonly password: Buffer;
  /** The time-out as granted at the last handshake. */
  timeoutMs: number;
  /** The end of the tick in which the session runs out, on the clock of the server. */
  expiresAtMs: number;
  readonly createdAtMs: number;
}

/**
 * The sessions that are alive. Deadlines are rounded up to the ends of ticks, so that a session runs out between one
 * time-out and one time-out plus one tick after its last packet.
 */
export class Sessions {
  readonly #tickMs: number;
  readonly #minTimeoutMs: number;
  readonly #maxTimeoutMs: number;
  readonly #byId = new Map<bigint, Session>();
  readonly #buckets = new Map<number, Set<Session>>();
  #nextId: bigint;
  expired = 0;

  constructor(options: {
    readonly tickMs: number;
    readonly minTimeoutMs: number;
    readonly maxTimeoutMs: number;
    readonly serverId: number;
    /** Milliseconds since 1970. It makes the session ids of two starts differ. */
    readonly startedAtMs: number;
  }) {
    this.#tickMs = options.tickMs;
    this.#minTimeoutMs = options.minTimeoutMs;
    this.#maxTimeoutMs = options.maxTimeoutMs;
    // An id has the server in its high byte, then five bytes of time, then a counter of two bytes.
    const time = BigInt.asUintN(40, BigInt(Math.floor(options.startedAtMs)));
    this.#nextId = BigInt.asIntN(64, (BigInt(options.serverId) << 56n) | (time << 16n));
  }

  get size(): number {
    return this.#byId.size;
  }

  values(): Iterable<Session> {
    return this.#byId.values();
  }

  get(id: bigint): Session | undefined {
    return this.#byId.get(id);
  }

  /** The time-out that a client gets if it asks for `wishedMs`. */
  negotiate(wishedMs: number): number {
    return Math.min(this.#maxTimeoutMs, Math.max(this.#minTimeoutMs, wishedMs));
  }

  open(wishedMs: number, nowMs: number): Session {
    const id = this.#nextId++;
    const session = {
      id,
      password: passwordOf(id),
      timeoutMs: this.negotiate(wishedMs),
      expiresAtMs: 0,
      createdAtMs: nowMs,
    };
    this.#byId.set(id, session);
    this.touch(session, nowMs);
    return session;
  }

  /** Another handshake of a session: the password must be right, and the time-out is negotiated again. */
  reopen(id: bigint, password: Uint8Array | null, wishedMs: number, nowMs: number): Session | undefined {
    const session = this.#byId.get(id);
    if (session === undefined || password?.length !== passwordLength) return undefined;
    if (!timingSafeEqual(session.password, password)) return undefined;
    session.timeoutMs = this.negotiate(wishedMs);
    this.touch(session, nowMs);
    return session;
  }

  /** Any packet of a session is a sign of life. */
  touch(session: Session, nowMs: number): void {
    const tickMs = this.#tickMs;
    const expiresAtMs = (Math.floor((nowMs + session.timeoutMs) / tickMs) + 1) * tickMs;
    if (expiresAtMs === session.expiresAtMs || !this.#byId.has(session.id)) return;
    this.#leaveBucket(session);
    session.expiresAtMs = expiresAtMs;
    const bucket = this.#buckets.get(expiresAtMs);
    if (bucket === undefined) this.#buckets.set(expiresAtMs, new Set([session]));
    else bucket.add(session);
  }

  /** All sessions get their whole time-out again, as after a restart or an election. */
  touchAll(nowMs: number): void {
    for (const session of this.#byId.values()) this.touch(session, nowMs);
  }

  close(id: bigint): Session | undefined {
    const session = this.#byId.get(id);
    if (session !== undefined) {
      this.#leaveBucket(session);
      this.#byId.delete(id);
    }
    return session;
  }

  /** When the next session runs out; undefined without sessions. */
  nextExpiryMs(): number | undefined {
    let next: number | undefined;
    for (const atMs of this.#buckets.keys()) {
      if (next === undefined || atMs < next) next = atMs;
    }
    return next;
  }

  /** The sessions that have run out and are still open, in the order of their deadlines. */
  due(nowMs: number): Session[] {
    const ends = [...this.#buckets.keys()].filter((atMs) => atMs <= nowMs).sort((a, b) => a - b);
    return ends.flatMap((atMs) => [...(this.#buckets.get(atMs) ?? [])]);
  }

  /** Deadlines with the sessions that run out then, for `dump`. */
  deadlines(): [number, Session[]][] {
    return [...this.#buckets].map(([atMs, sessions]) => [atMs, [...sessions]] as [number, Session[]]);
  }

  #leaveBucket(session: Session): void {
    const bucket = this.#buckets.get(session.expiresAtMs);
    bucket?.delete(session);
    if (bucket?.size === 0) this.#buckets.delete(session.expiresAtMs);
  }
}

/** The password follows from the id alone, as on real servers: it guards against mistakes, not against attackers. */
function passwordOf(id: bigint): Buffer {
  return createHash("sha256").update(`holdfast session ${id}`).digest().subarray(0, passwordLength);
}
