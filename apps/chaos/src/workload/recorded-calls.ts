import type { RunClock } from "../engine/clock.js";
import type { Nanos, OperationName } from "../history/record.js";
import { type Held, Promises, validUntil } from "./held.js";
import type { FromWorker, WorkerKey } from "./protocol.js";
import type { Ask, Client, Grant, ReleaseEnd } from "./recipe.js";
import type { ResourceClient } from "./resource-client.js";

export interface RecordedCallsOptions {
  readonly p: string;
  readonly clock: RunClock;
  readonly client: Client;
  readonly resource: ResourceClient | null;
  readonly fenced: boolean;
  /** Ends all waits when it aborts. */
  readonly signal: AbortSignal;
  say(word: FromWorker): void;
  /** Called with an error that makes the whole run meaningless. */
  broken(error: unknown): void;
}

export interface Wish {
  readonly mode?: "read" | "write";
  readonly permits?: number;
  readonly once?: boolean;
  readonly waitMs?: number | undefined;
  /** Whether the request's signal ends the wait, so that the client knows of no limit. */
  readonly aborts?: boolean;
  readonly thread?: string;
}

/** Makes every operation of a worker: it calls the client, and records the request and its outcome. */
export class RecordedCalls {
  readonly #options: RecordedCallsOptions;
  readonly #promises: Promises;
  #lastOp = 0;

  constructor(options: RecordedCallsOptions, lookEveryMs: number) {
    this.#options = options;
    this.#promises = new Promises(options.clock, lookEveryMs, (held, until) => {
      this.#event(held, "extended", { validUntil: until });
    });
  }

  /** Acquires a lock. Resolves with `null` if it was not granted, whatever the reason. */
  async acquire(key: WorkerKey, wish: Wish = {}): Promise<Held | null> {
    const { client, signal, p } = this.#options;
    const op = ++this.#lastOp;
    const { mode = "write", permits = 1, once = false, waitMs, aborts = false, thread = "" } = wish;
    const f = once ? "try-acquire" : "acquire";
    this.#invoke(f, key, op, {
      arg: {
        ...(mode === "read" ? { mode } : {}),
        ...(permits === 1 ? {} : { permits }),
        ...(waitMs === undefined ? {} : { waitMs }),
        ...(thread === "" ? {} : { thread }),
      },
    });
    const limit =
      aborts && waitMs !== undefined
        ? { waitMs: undefined, signal: AbortSignal.any([signal, AbortSignal.timeout(waitMs)]) }
        : { waitMs, signal };
    const ask: Ask = { key, label: `${p}:${op}`, mode, once, permits, thread, ...limit };
    let grant: Grant | null;
    try {
      grant = await client.acquire(ask);
    } catch (error) {
      const meaning = client.meaning(error);
      this.#end(meaning === "info" ? "info" : "fail", f, key, op, { error: textOf(error) });
      if (meaning === "broken") this.#options.broken(error);
      return null;
    }
    if (grant === null) {
      this.#end("fail", f, key, op, {});
      return null;
    }
    return this.#granted(f, key, op, grant, mode, thread);
  }

  async release(held: Held): Promise<void> {
    const op = ++this.#lastOp;
    this.#promises.drop(held);
    this.#invoke("release", held.key, op, { hold: held.id });
    let end: ReleaseEnd;
    try {
      end = await held.grant.release();
    } catch (error) {
      end = { end: "info", why: textOf(error) };
    }
    held.forget();
    if (end.end === "ok") {
      const { end: _, ...ret } = end;
      this.#end("ok", "release", held.key, op, Object.keys(ret).length === 0 ? {} : { ret });
    } else this.#end(end.end, "release", held.key, op, { error: end.why });
  }

  /** Downgrades a write. Resolves with the read, or `null` if that failed. */
  async downgrade(held: Held): Promise<Held | null> {
    const op = ++this.#lastOp;
    this.#promises.drop(held);
    this.#invoke("downgrade", held.key, op, { hold: held.id });
    try {
      const grant = await held.grant.downgrade?.();
      if (grant === undefined) throw new Error("this client cannot downgrade");
      held.forget();
      return this.#granted("downgrade", held.key, op, grant, "read", held.thread);
    } catch (error) {
      this.#end("info", "downgrade", held.key, op, { error: textOf(error) });
      return null;
    }
  }

  /** Reads the value before the work; `null` if the resource refuses the request. */
  async read(held: Held): Promise<number | null> {
    const { resource, fenced } = this.#options;
    if (resource === null) return null;
    const answer = await resource.ask({
      do: "read",
      key: held.key.id,
      hold: held.id,
      fenced,
      ...tokenOf(held),
    });
    return answer.accepted ? answer.value : null;
  }

  /** Writes the value that was read plus one. */
  async write(held: Held, read: number): Promise<void> {
    const { resource, fenced } = this.#options;
    if (resource === null) return;
    const op = ++this.#lastOp;
    this.#invoke("write", held.key, op, { hold: held.id });
    const { accepted } = await resource.ask({
      do: "write",
      key: held.key.id,
      hold: held.id,
      read,
      fenced,
      ...tokenOf(held),
    });
    if (accepted) this.#end("ok", "write", held.key, op, {});
    else this.#end("fail", "write", held.key, op, { error: "refused: a newer token was seen" });
  }

  close(): void {
    this.#promises.stop();
  }

  #granted(
    f: OperationName,
    key: WorkerKey,
    op: number,
    grant: Grant,
    mode: "read" | "write",
    thread: string,
  ): Held {
    const { p, clock } = this.#options;
    const id = `${p}:${op}`;
    const until = validUntil(grant, clock);
    this.#end("ok", f, key, op, {
      ret: {
        hold: id,
        ...(grant.token === null ? {} : { token: grant.token.toString() }),
        ...(until === undefined ? {} : { validUntil: until }),
        ...(grant.count === undefined ? {} : { count: grant.count }),
      },
    });
    const { lost } = grant;
    const heard = (): void => {
      this.#promises.drop(held);
      this.#event(held, "lost", {
        cause: textOf((lost?.reason as { reason?: unknown })?.reason ?? lost?.reason),
      });
    };
    const held: Held = {
      id,
      key,
      mode,
      thread,
      grant,
      forget: () => lost?.removeEventListener("abort", heard),
    };
    if (lost?.aborted === true) heard();
    else lost?.addEventListener("abort", heard, { once: true });
    if (until !== undefined) this.#promises.add(held, until);
    return held;
  }

  #invoke(f: OperationName, key: WorkerKey, op: number, more: { hold?: string; arg?: object }): void {
    const { p, clock } = this.#options;
    this.#options.say({ t: clock.now(), type: "invoke", p, f, key: key.id, op, ...more });
  }

  #end(
    type: "ok" | "fail" | "info",
    f: OperationName,
    key: WorkerKey,
    op: number,
    more: { ret?: object; error?: string },
  ): void {
    const { p, clock } = this.#options;
    this.#options.say({ t: clock.now(), type, p, f, key: key.id, op, ...more });
  }

  #event(held: Held, f: "lost" | "extended", more: { cause?: string; validUntil?: Nanos }): void {
    const { p, clock } = this.#options;
    this.#options.say({ t: clock.now(), type: "event", p, f, key: held.key.id, hold: held.id, ...more });
  }
}

const tokenOf = ({ grant: { token } }: Held): { token?: string } =>
  token === null ? {} : { token: token.toString() };

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, 300);
