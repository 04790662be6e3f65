import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisProxy, type RespEntry } from "@holdfast/test-servers";

/** What an operation costs on the wire. */
export interface Cost {
  /** Calls of scripts, also those that no caller waits for. */
  readonly scripts: number;
  /** SUBSCRIBE and its like. Default none. */
  readonly subscriptions?: number;
  /** WAITs for replicas. Default none. */
  readonly waits?: number;
  /** Round trips that the caller waits for, one after the other. */
  readonly awaited: number;
}

/** One line of the table. */
export interface Row extends Cost {
  readonly operation: string;
  /** Round trips that a caller of Redisson waits for, where they were measured. A caller of ours never waits for more. */
  readonly redisson?: number;
  /** Prepares the operation, and calls `cost` of the scene once. */
  readonly run: (scene: Scene) => Promise<void>;
}

const scripts: ReadonlySet<string> = new Set(["EVAL", "EVALSHA"]);
const aside: ReadonlySet<string> = new Set(["AUTH", "CLIENT", "HELLO", "PING", "SELECT", "INFO"]);
/** The wire is quiet when nothing new was seen in this many looks. */
const quietLooks = 4;

/** The scene in which one row is counted. Heartbeats and renewals are further apart than the rows take. */
export class Scene {
  readonly client: RedisLocks;
  /** Another client, which does not use the link. */
  readonly rival: RedisLocks;
  readonly name: string;
  readonly #link: RedisProxy;
  counted: Cost | null = null;
  /** What was counted, line by line, for messages. */
  sent = "";

  constructor(client: RedisLocks, rival: RedisLocks, link: RedisProxy, name: string) {
    this.client = client;
    this.rival = rival;
    this.#link = link;
    this.name = name;
  }

  /**
   * Counts what `work` sends, and what follows from it in the background. `unanswered`: the caller waits for no answer of a
   * script. To show that, all these answers are held back until `work` is done.
   */
  async cost<T>(work: () => Promise<T>, { unanswered = false } = {}): Promise<T> {
    await this.quiet();
    this.#link.reset();
    const held = unanswered
      ? (["EVAL", "EVALSHA"] as const).map((name) => this.#link.holdReply({ name }))
      : [];
    const done = await work();
    const awaited = unanswered ? 0 : this.#flights();
    for (const rule of held) rule.release();
    await this.quiet();
    const commands = this.#commands();
    this.sent = commands.map(({ name, key, flight }) => `${flight} ${name} ${key ?? ""}`).join("\n");
    const count = (fits: (name: string) => boolean) => commands.filter(({ name }) => fits(name)).length;
    const subscriptions = count((name) => name.endsWith("SUBSCRIBE"));
    const waits = count((name) => name === "WAIT");
    this.counted = {
      scripts: count((name) => scripts.has(name)),
      ...(subscriptions > 0 && { subscriptions }),
      ...(waits > 0 && { waits }),
      awaited,
    };
    if (count((name) => !scripts.has(name)) !== subscriptions + waits)
      throw new Error(`something else was sent:\n${this.sent}`);
    return done;
  }

  /** Waits until all requests are answered, and no other request follows from them. */
  async quiet(): Promise<void> {
    let seen = -1;
    let looks = 0;
    await eventually(
      () => {
        const { trace } = this.#link;
        looks = trace.length === seen ? looks + 1 : 0;
        seen = trace.length;
        const of = (kind: RespEntry["kind"]) => trace.filter((entry) => entry.kind === kind).length;
        return looks >= quietLooks && of("command") <= of("reply");
      },
      { what: "the wire to be quiet", everyMs: 5 },
    );
  }

  #commands(): RespEntry[] {
    return this.#link.trace.filter(
      ({ kind, name }) => kind === "command" && !aside.has(name.split(" ", 1)[0] ?? ""),
    );
  }

  /** Counts the round trips of scripts alone, since no operation waits for a subscription. */
  #flights(): number {
    const flights = this.#commands()
      .filter(({ name }) => scripts.has(name))
      .map(({ connection, flight }) => `${connection} ${flight}`);
    return new Set(flights).size;
  }
}
