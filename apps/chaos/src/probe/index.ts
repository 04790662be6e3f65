import { RunClock } from "../engine/clock.js";
import type { FromWorker } from "../workload/protocol.js";
import { say } from "../workload/records.js";
import { ResourceClient } from "../workload/resource-client.js";
import type { ProbeSetup } from "./setup.js";

/** A grant, as the service knows it. */
export interface ProbedGrant {
  /** The fencing token that the service passes on to its store. Leave it out if the service does not pass it on. */
  readonly token?: bigint;
  /** For how many milliseconds from now the lock is promised. */
  readonly remainingMs?: number;
  /** Aborts when the service is notified that the lock is lost. */
  readonly lost?: AbortSignal;
}

/** The outcome of a release. Call one of the three. */
export interface ProbedRelease {
  /** The lock was given back. */
  ok(): void;
  /** The lock did not belong to this service any more. */
  fail(why?: unknown): void;
  /** The outcome is not known. */
  unknown(why?: unknown): void;
}

/** A lock that the service holds. */
export interface ProbedHold {
  /**
   * Reports the effect of the work: call it where the service writes to its store. In a run it writes to the runner's
   * resource: the value that was read when the lock was granted, plus one, and one more with each further call.
   * Resolves with false if the resource refused the write because of a newer token; outside a run it resolves with
   * true.
   */
  write(): Promise<boolean>;
  /** Call it just before the release is sent. */
  releasing(): ProbedRelease;
}

/** An acquire that is under way. Call one of the three. */
export interface ProbedAcquire {
  /** The lock was granted. */
  granted(grant?: ProbedGrant): ProbedHold;
  /** The lock was not granted, and nothing of the request is left. */
  refused(): void;
  /** The acquire failed, but the lock may have been granted all the same. */
  unknown(error?: unknown): void;
}

/** The object to which a service under test reports what it does with its locks. */
export interface Probe {
  /** Whether the process runs under `holdfast-chaos run --service`. Otherwise no call here does anything. */
  readonly active: boolean;
  /**
   * Call it just before the acquire is sent.
   *
   * @param key the name of the lock, as given to the run by `--key`
   * @throws RangeError in a run that does not know the key
   */
  acquiring(key: string): ProbedAcquire;
}

function openProbe(text: string | undefined): Probe {
  if (text === undefined || text === "") return silent;
  const probe = new LiveProbe(JSON.parse(text) as ProbeSetup);
  // Child processes of the service are no instances of it.
  delete process.env.CHAOS_PROBE;
  return probe;
}

/** The probe outside a run. */
const silent: Probe = (() => {
  const release: ProbedRelease = { ok: () => {}, fail: () => {}, unknown: () => {} };
  const hold: ProbedHold = { write: async () => true, releasing: () => release };
  const acquire: ProbedAcquire = { granted: () => hold, refused: () => {}, unknown: () => {} };
  return { active: false, acquiring: () => acquire };
})();

class LiveProbe implements Probe {
  readonly active = true;
  readonly #setup: ProbeSetup;
  readonly #clock: RunClock;
  readonly #resource: Promise<ResourceClient>;
  #op = 0;

  constructor(setup: ProbeSetup) {
    this.#setup = setup;
    this.#clock = new RunClock(setup.clockBase);
    this.#resource = ResourceClient.open(setup.resource);
    this.#resource.catch(() => {}); // the code that uses it gets the error
    this.#say({ say: "ready", versions: { node: process.versions.node, pid: String(process.pid) } });
  }

  acquiring(key: string): ProbedAcquire {
    if (!this.#setup.keys.includes(key)) {
      const why = `the run knows the locks ${this.#setup.keys.join(", ")}, and not ${key}: name it with --key`;
      // Whatever the service does with the error, the run has failed.
      this.#say({ say: "failed", error: why });
      throw new RangeError(why);
    }
    const op = this.#invoke("acquire", key);
    return {
      granted: (grant = {}) => this.#granted(key, op, grant),
      refused: () => this.#end("fail", "acquire", key, op),
      unknown: (error) => this.#end("info", "acquire", key, op, { error: textOf(error) }),
    };
  }

  #granted(key: string, op: number, { token, remainingMs, lost }: ProbedGrant): ProbedHold {
    const hold = `${this.#setup.p}:${op}`;
    const validUntil = remainingMs === undefined ? {} : { validUntil: this.#clock.now() + remainingMs * 1e6 };
    const carried = token === undefined ? {} : { token: token.toString() };
    this.#end("ok", "acquire", key, op, { ret: { hold, ...carried, ...validUntil } });
    const heard = (): void => {
      const { p } = this.#setup;
      this.#say({
        t: this.#clock.now(),
        type: "event",
        p,
        f: "lost",
        key,
        hold,
        cause: textOf(lost?.reason),
      });
    };
    if (lost?.aborted === true) heard();
    else lost?.addEventListener("abort", heard, { once: true });
    const fenced = token !== undefined;
    const about = { key, hold, fenced, ...carried };
    // First the value that the resource had before the work, then the value of the last own write. If a write finds
    // another value there, another holder has written in between.
    let latest = this.#resource.then((resource) => resource.ask({ do: "read", ...about }));
    latest.catch(() => {}); // the code that uses it gets the error
    return {
      write: async () => {
        latest = latest.then(async (before) => {
          if (!before.accepted) return before;
          const writing = this.#invoke("write", key, hold);
          const answer = await (await this.#resource).ask({ do: "write", read: before.value, ...about });
          this.#end(answer.accepted ? "ok" : "fail", "write", key, writing);
          return answer;
        });
        return (await latest).accepted;
      },
      releasing: () => {
        lost?.removeEventListener("abort", heard);
        const releasing = this.#invoke("release", key, hold);
        return {
          ok: () => this.#end("ok", "release", key, releasing),
          fail: (why) => this.#end("fail", "release", key, releasing, { error: textOf(why) }),
          unknown: (why) => this.#end("info", "release", key, releasing, { error: textOf(why) }),
        };
      },
    };
  }

  #invoke(f: "acquire" | "release" | "write", key: string, hold?: string): number {
    const op = ++this.#op;
    const { p } = this.#setup;
    this.#say({
      t: this.#clock.now(),
      type: "invoke",
      p,
      f,
      key,
      op,
      ...(hold === undefined ? {} : { hold }),
    });
    return op;
  }

  #end(
    type: "ok" | "fail" | "info",
    f: "acquire" | "release" | "write",
    key: string,
    op: number,
    more: { ret?: object; error?: string } = {},
  ): void {
    this.#say({ t: this.#clock.now(), type, p: this.#setup.p, f, key, op, ...more });
  }

  #say(word: FromWorker): void {
    say(word, this.#setup.fd);
  }
}

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error ?? "")).slice(0, 300);

/**
 * The probe of this process. Without `CHAOS_PROBE` in the environment every call does nothing, so it can stay in the
 * code of a service in production.
 *
 * @example
 * ```ts
 * import { probe } from "@holdfast/chaos/probe";
 *
 * const acquiring = probe.acquiring("stock");
 * // ... acquire the lock, and then:
 * const held = acquiring.granted({ token: 41n, remainingMs: 5_000 });
 * await held.write(); // beside each write to the store
 * const releasing = held.releasing();
 * // ... release the lock, and then:
 * releasing.ok();
 * ```
 */
export const probe: Probe = openProbe(process.env.CHAOS_PROBE);
