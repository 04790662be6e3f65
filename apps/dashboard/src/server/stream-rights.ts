import type { Principal } from "../auth/roles.js";
import { within } from "../core/bounded.js";
import type { Admission } from "./access.js";

const lookEveryMs = 1_000;
const usualHookEveryMs = 120_000;
/** A hook that has not answered by then does not let its caller in. */
const hookAnswerMs = 10_000;
const notKnown = "who it is cannot be found out";

interface Open {
  readonly admission: Admission;
  readonly end: (why: string) => void;
  askedMs: number;
  asking: boolean;
}

/**
 * Ends the streams of callers whose rights have changed. An open stream brings no further request whose credentials
 * would be checked. So a caller that has lost a role, a password or a token would be served for as long as the
 * connection lasts. Users and tokens are compared every second, which costs nothing. The hook `authenticate` may ask
 * other servers, so it is asked only every two minutes for each stream.
 */
export class StreamRights {
  readonly #open: Set<Open> = new Set();
  readonly #hookEveryMs: number;
  readonly #timer: NodeJS.Timeout;

  constructor(hookEveryMs: number = usualHookEveryMs) {
    this.#hookEveryMs = hookEveryMs;
    this.#timer = setInterval(() => this.#look(), Math.min(lookEveryMs, hookEveryMs));
    this.#timer.unref();
  }

  /** `end` is called at most once. Call the returned function when the stream has ended. */
  watch(admission: Admission, end: (why: string) => void): () => void {
    const open: Open = { admission, end, askedMs: performance.now(), asking: false };
    this.#open.add(open);
    return () => this.#open.delete(open);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#open.clear();
  }

  #look(): void {
    const nowMs = performance.now();
    for (const open of this.#open) {
      if (open.admission.by === "own") this.#askOwn(open, open.admission.again);
      else if (!open.asking && nowMs - open.askedMs >= this.#hookEveryMs) void this.#ask(open);
    }
  }

  /** Users and tokens may be functions of the host, which may throw. */
  #askOwn(open: Open, again: () => Principal | null): void {
    try {
      this.#compare(open, again());
    } catch {
      this.#end(open, notKnown);
    }
  }

  async #ask(open: Open): Promise<void> {
    open.asking = true;
    try {
      this.#compare(open, await within(Promise.resolve(open.admission.again()), hookAnswerMs));
    } catch {
      this.#end(open, notKnown);
    } finally {
      open.askedMs = performance.now();
      open.asking = false;
    }
  }

  /** A page whose stream ends asks again what its caller may do. So another role ends the stream as well. */
  #compare(open: Open, now: Principal | null): void {
    const { name, role } = open.admission.principal;
    if (now === null) this.#end(open, "its caller is not let in any more");
    else if (now.name !== name || now.role !== role) this.#end(open, "its caller has another role or name");
  }

  #end(open: Open, why: string): void {
    if (this.#open.delete(open)) open.end(why);
  }
}
