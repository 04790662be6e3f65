import { freePort } from "../../free-port.js";
import type { Link, LinkFilter } from "../link.js";
import { type ProxyOptions, TcpProxy } from "../tcp-proxy.js";
import { type PortMap, rewriteAddresses } from "./address-rewrite.js";
import { RespBudget, type RespCounts, type RespIgnored } from "./resp-budget.js";
import { type RespEntry, RespTrace } from "./resp-entry.js";
import {
  cutPoints,
  type RespAction,
  type RespAfterLoss,
  type RespCutPoint,
  type RespMatch,
  RespRule,
} from "./resp-rule.js";
import { RespTap } from "./resp-tap.js";

/** What `startRedisProxy()` takes. */
export interface RedisProxyOptions extends ProxyOptions {
  /**
   * Commands that are left out of `counts().commands` and of flights. Default: those with which a client introduces
   * itself and checks that the server is there: `["AUTH", "CLIENT", "HELLO", "INFO", "PING", "SELECT"]`.
   */
  ignore?: RespIgnored;
  /** How many entries the trace keeps; default 20,000. Counts have no limit. */
  traceLimit?: number;
  /**
   * Maps ports of servers to the ports of the proxies in front of them. In what Sentinel and Cluster send, addresses on
   * 127.0.0.1 are rewritten, so that clients connect to the proxies. Ports of five digits only, as `freePort` gives
   * them. The map is read anew for each answer. Default: nothing is changed.
   */
  rewritePorts?: PortMap;
}

const introduction: readonly string[] = ["AUTH", "CLIENT", "HELLO", "INFO", "PING", "SELECT"];

/**
 * A TCP proxy that reads RESP, version 2 and 3: it records and counts commands, replies and messages, and can hold,
 * delay, refuse or lose chosen ones. Everything that `TcpProxy` does works here too.
 *
 * The trace shows what came through. A command swallowed by a hole is not in it; a reply swallowed by a hole is, with
 * the fate `dropped`. While something is held, what is behind it is neither recorded nor counted. TLS, and the stream
 * between a master and its replicas, pass unread.
 */
export class RedisProxy extends TcpProxy {
  readonly #trace: RespTrace;
  readonly #budget: RespBudget;
  readonly #rewritePorts: PortMap | undefined;
  readonly #connections = new Map<number, Link>();
  #rules: RespRule[] = [];

  protected constructor(options: RedisProxyOptions, port: number) {
    super(options, port);
    this.#trace = new RespTrace(this.name, options.traceLimit ?? 20_000);
    this.#budget = new RespBudget(options.ignore ?? introduction);
    this.#rewritePorts = options.rewritePorts;
    for (const given of options.rewritePorts ?? []) {
      for (const each of given) {
        if (!/^\d{5}$/.test(String(each))) throw new RangeError(`${this.name}: ${each} has not five digits`);
      }
    }
  }

  /** Does what `startRedisProxy` does. */
  static override async start(options: RedisProxyOptions): Promise<RedisProxy> {
    const proxy = new RedisProxy(options, options.port ?? (await freePort()));
    await proxy.listen();
    return proxy;
  }

  /** What was read since the start or the last reset, oldest first. */
  get trace(): readonly RespEntry[] {
    return this.#trace.entries;
  }

  /** What was read since the start or the last reset. */
  counts(): RespCounts {
    return this.#budget.counts;
  }

  /** Clears trace and counts; rules stay. From here on `ignore` replaces the list of what is left out. */
  reset(options: { ignore?: RespIgnored } = {}): void {
    this.#trace.clear();
    this.#budget.reset(options.ignore);
  }

  /**
   * The first entry in the trace that `fits`, or the next one to come.
   * @throws TestServerError after `withinMs` (default 10,000), with `what` and the last entries.
   */
  waitFor(
    fits: (entry: RespEntry) => boolean,
    options: { withinMs?: number; what?: string } = {},
  ): Promise<RespEntry> {
    return this.#trace.waitFor(fits, options.withinMs ?? 10_000, options.what ?? "something");
  }

  /** Holds commands back, and everything that the client sends after them. */
  holdCommand(match: RespMatch = {}): RespRule {
    return this.#rule("holdCommand", "command", match, { do: "hold" });
  }

  /** Lets commands arrive later, and everything that the client sends after them. */
  delayCommand(match: RespMatch & { delayMs: number }): RespRule {
    return this.#rule("delayCommand", "command", match, { do: "delay", delayMs: match.delayMs });
  }

  /** Drops commands: the server never gets them. `after` is `cut` by default. */
  dropCommand(match: RespMatch & { after?: RespAfterLoss } = {}): RespRule {
    return this.#rule("dropCommand", "command", match, { do: "drop", after: match.after ?? "cut" });
  }

  /**
   * Makes the server refuse commands with the error `answer`, such as `OOM command not allowed`, and do nothing else.
   * In place of the command it gets a script that answers so, at the same place in the stream: the user must have the
   * right to EVAL.
   */
  refuseCommand(match: RespMatch & { answer: string }): RespRule {
    return this.#rule("refuseCommand", "command", match, { do: "refuse", answer: match.answer });
  }

  /** Holds replies back, and everything that the server sends after them, messages included. */
  holdReply(match: RespMatch = {}): RespRule {
    return this.#rule("holdReply", "reply", match, { do: "hold" });
  }

  /** Lets replies arrive later, and everything that the server sends after them. */
  delayReply(match: RespMatch & { delayMs: number }): RespRule {
    return this.#rule("delayReply", "reply", match, { do: "delay", delayMs: match.delayMs });
  }

  /**
   * Drops replies: the server has executed the command, and the client does not learn it. `after` is `cut` by default.
   */
  dropReply(match: RespMatch & { after?: RespAfterLoss } = {}): RespRule {
    return this.#rule("dropReply", "reply", match, { do: "drop", after: match.after ?? "cut" });
  }

  /** Holds messages back, and what the server sends after them. Acts on every match, unless `times` limits it. */
  holdMessages(match: RespMatch = {}): RespRule {
    return this.#rule("holdMessages", "push", match, { do: "hold" });
  }

  /** Lets messages arrive later, and what the server sends after them. Acts on every match by default. */
  delayMessages(match: RespMatch & { delayMs: number }): RespRule {
    return this.#rule("delayMessages", "push", match, { do: "delay", delayMs: match.delayMs });
  }

  /** Drops messages. Acts on every match, unless `times` limits it. `after` is `go-on` by default. */
  dropMessages(match: RespMatch & { after?: RespAfterLoss } = {}): RespRule {
    return this.#rule("dropMessages", "push", match, { do: "drop", after: match.after ?? "go-on" });
  }

  /** Cuts the connection of a command at an exact point: by FIN, or by RST with `reset`. */
  cut(match: RespMatch & { at: RespCutPoint; reset?: boolean }): RespRule {
    const { at, reset = false } = match;
    if (!cutPoints.includes(at))
      throw new RangeError(`${this.name}: there is no cut at ${JSON.stringify(at)}`);
    const kind = at === "before" || at === "mid-command" || at === "sent" ? "command" : "reply";
    return this.#rule("cut", kind, match, { do: "cut", at, reset });
  }

  /** The numbers of the connections that are open now, as in the trace. */
  get connections(): readonly number[] {
    return [...this.#connections].flatMap(([id, { closed }]) => (closed ? [] : [id]));
  }

  /** Ends one connection, by FIN or by RST. Does nothing if it has ended. Its number is in the trace. */
  endConnection(connection: number, options: { reset?: boolean } = {}): void {
    const link = this.#connections.get(connection);
    if (options.reset === true) link?.reset();
    else link?.close();
  }

  /** Releases everything that is held and ends all rules. */
  clearRules(): void {
    const rules = this.#rules;
    this.#rules = [];
    for (const rule of rules) rule.release();
  }

  protected override filterFor(link: Link): LinkFilter {
    for (const [id, old] of this.#connections) if (old.closed) this.#connections.delete(id);
    this.#connections.set(link.id, link);
    return new RespTap(link, {
      ruleFor: (entry) => this.#rules.find((rule) => rule.takes(entry)),
      seen: (entry) => this.#budget.seen(entry),
      decided: (entry) => this.#trace.add(entry),
      changed: (entry) => this.#trace.look(entry),
      replied: (command) => this.#budget.answered(command),
      rewritten: (entry, bytes) =>
        this.#rewritePorts === undefined ? bytes : rewriteAddresses(entry, bytes, this.#rewritePorts),
    });
  }

  #rule(name: string, kind: RespEntry["kind"], match: RespMatch, action: RespAction): RespRule {
    const rule = new RespRule(`${this.name}: ${name}`, kind, match, action);
    this.#rules = this.#rules.filter((old) => !old.over || old.holding);
    this.#rules.push(rule);
    return rule;
  }
}

/** Starts a proxy in front of one Redis server, Sentinel or member of a cluster. */
export function startRedisProxy(options: RedisProxyOptions): Promise<RedisProxy> {
  return RedisProxy.start(options);
}
