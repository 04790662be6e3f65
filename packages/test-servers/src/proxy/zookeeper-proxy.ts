import { freePort } from "../free-port.js";
import { Budget, type Counts, type Ignored } from "./budget.js";
import type { Link, LinkFilter } from "./link.js";
import { ProxyFaults } from "./proxy-faults.js";
import {
  type DropOptions,
  type EventMatch,
  type FrameMatch,
  FrameRule,
  type HoldOptions,
  matcher,
  type RuleAction,
} from "./rules.js";
import { type ProxyOptions, TcpProxy } from "./tcp-proxy.js";
import { Trace, type TraceEntry } from "./trace.js";
import { ZooKeeperTap } from "./zookeeper-tap.js";

/** What `startZooKeeperProxy()` takes. */
export interface ZooKeeperProxyOptions extends ProxyOptions {
  /** Requests that are left out of `counts().requests` and of flights; default `["ping", "sync"]`. */
  ignore?: Ignored;
  /** How many frames the trace keeps; default 20,000. Counts have no limit. */
  traceLimit?: number;
}

/** A session that was opened or taken up again through a proxy. */
export interface ProxiedSession {
  /** Number of the connection, as in the trace. */
  connection: number;
  /** The id that the server gave. */
  sessionId: bigint;
  /** The 16 bytes that the server gave with it. */
  password: Uint8Array;
  /** The time-out as granted by the server, in milliseconds. */
  timeoutMs: number;
  /**
   * When the server's answer was read, on the clock of `performance.now()`. Of several proxies, the latest is the one
   * in use.
   */
  at: number;
}

/**
 * A TCP proxy that reads the ZooKeeper frames passing through: it records and counts them, and can hold or drop chosen
 * ones. Everything that `TcpProxy` does works here too.
 *
 * The trace shows what came through. A request swallowed by a hole is not in it; a reply swallowed by a hole is, with
 * the fate `dropped`. While a frame is held, those behind it are neither recorded nor counted.
 */
export class ZooKeeperProxy extends TcpProxy {
  /**
   * The rules of the embedded server's `faults`, for the server behind this proxy. They come before the rules set
   * below.
   */
  readonly faults: ProxyFaults;
  readonly #trace: Trace;
  readonly #budget: Budget;
  readonly #taps = new Map<number, ZooKeeperTap>();
  #rules: FrameRule[] = [];

  private constructor(options: ZooKeeperProxyOptions, port: number) {
    super(options, port);
    this.faults = new ProxyFaults(() => this.target);
    this.#trace = new Trace(this.name, options.traceLimit ?? 20_000);
    this.#budget = new Budget(options.ignore ?? ["ping", "sync"]);
  }

  /** Does what `startZooKeeperProxy` does. */
  static override async start(options: ZooKeeperProxyOptions): Promise<ZooKeeperProxy> {
    const proxy = new ZooKeeperProxy(options, options.port ?? (await freePort()));
    await proxy.listen();
    return proxy;
  }

  /** The frames read since the start or the last reset, oldest first. */
  get trace(): readonly TraceEntry[] {
    return this.#trace.entries;
  }

  /** The sessions of all connections whose handshake was answered with a session, oldest connection first. */
  get sessions(): ProxiedSession[] {
    const sessions: ProxiedSession[] = [];
    for (const [connection, tap] of this.#taps) {
      const { handshake, handshakeAt } = tap.reader;
      if (handshake === undefined || handshake.timeoutMs <= 0) continue;
      const { sessionId, password, timeoutMs } = handshake;
      sessions.push({ connection, sessionId, password, timeoutMs, at: handshakeAt });
    }
    return sessions;
  }

  /** What was read since the start or the last reset. */
  counts(): Counts {
    return this.#budget.counts;
  }

  /** Clears trace and counts; rules stay. From here on `ignore` replaces the list of what is left out. */
  reset(options: { ignore?: Ignored } = {}): void {
    this.#trace.clear();
    this.#budget.reset(options.ignore);
  }

  /**
   * The first frame in the trace that `predicate` accepts, or the next one to come.
   * @throws TestServerError after `withinMs` (default 10,000), with `what` and the last frames.
   */
  waitFor(
    predicate: (entry: TraceEntry) => boolean,
    options: { withinMs?: number; what?: string } = {},
  ): Promise<TraceEntry> {
    return this.#trace.waitFor(predicate, options.withinMs ?? 10_000, options.what ?? "a frame");
  }

  /** Holds requests back, and everything that the client sends after them. */
  holdRequest(match: FrameMatch & HoldOptions = {}): FrameRule {
    return this.#rule("holdRequest", "request", match, { hold: match });
  }

  /** Drops requests: the server never gets them. */
  dropRequest(match: FrameMatch & DropOptions = {}): FrameRule {
    return this.#rule("dropRequest", "request", match, { drop: match });
  }

  /** Holds replies back, and everything that the server sends after them, events included. */
  holdReply(match: FrameMatch & HoldOptions = {}): FrameRule {
    return this.#rule("holdReply", "reply", match, { hold: match });
  }

  /** Drops replies: the server has executed the request, and the client does not learn it. */
  dropReply(match: FrameMatch & DropOptions = {}): FrameRule {
    return this.#rule("dropReply", "reply", match, { drop: match });
  }

  /** Holds watch events back: every one that matches, unless `times` limits it. */
  holdEvents(match: EventMatch & HoldOptions = {}): FrameRule {
    return this.#rule("holdEvents", "event", { times: Number.POSITIVE_INFINITY, ...match }, { hold: match });
  }

  /** Drops watch events: every one that matches, unless `times` limits it. */
  dropEvents(match: EventMatch & DropOptions = {}): FrameRule {
    return this.#rule("dropEvents", "event", { times: Number.POSITIVE_INFINITY, ...match }, { drop: match });
  }

  /** Releases everything that is held and ends all rules and faults. */
  clearRules(): void {
    this.faults.clear();
    const rules = this.#rules;
    this.#rules = [];
    for (const rule of rules) rule.release();
  }

  protected override filterFor(link: Link): LinkFilter {
    if (this.faults.refusing) link.close();
    const tap = new ZooKeeperTap(link, {
      faults: this.faults,
      ruleFor: (entry) => this.#rules.find((rule) => rule.takes(entry)),
      seen: (entry) => this.#seen(entry),
      decided: (entry) => this.#trace.add(entry),
      changed: (entry) => this.#trace.look(entry),
      replied: (request) => this.#budget.answered(request),
    });
    this.#taps.set(link.id, tap);
    return tap;
  }

  #rule(name: string, kind: TraceEntry["kind"], match: FrameMatch & EventMatch, what: RuleAction): FrameRule {
    const rule = new FrameRule(`${this.name}: ${name}`, matcher(kind, match), match, what);
    this.#rules.push(rule);
    return rule;
  }

  #seen(entry: TraceEntry): void {
    this.#budget.seen(entry);
    if (entry.kind === "request" && entry.op === "ping") {
      for (const rule of this.#rules) rule.pinged(entry.connection);
    }
  }
}

/** Starts a proxy in front of one ZooKeeper server. */
export function startZooKeeperProxy(options: ZooKeeperProxyOptions): Promise<ZooKeeperProxy> {
  return ZooKeeperProxy.start(options);
}
