import type { ProcessGroup } from "./process-group.js";

/** When a command has to end, by `monotonicMs()`. */
export interface Limits {
  /** From here on its group is asked to end, by SIGTERM. */
  readonly termAtMs: number;
  /** From here on it is killed. */
  readonly killAtMs: number;
}

/** Milliseconds by the monotonic clock, which all processes of a machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

const killAgainMs = 20;
/** The longest delay that a timer takes. */
const longestMs = 2 ** 31 - 1;

/**
 * Ends a process group at its limits, which move on as long as the lock is known to be held. The supervisor has one, and the lock client
 * another one with the same limits: either alone is enough.
 */
export class Enforcer {
  readonly #group: ProcessGroup;
  readonly #onKill: () => void;
  #stopped = false;
  #limits: Limits;
  #timer: NodeJS.Timeout | undefined;
  #termed = false;
  #killed = false;

  /** `onKill` is called once, when the first SIGKILL was sent. */
  constructor(group: ProcessGroup, limits: Limits, onKill: () => void = () => {}) {
    this.#group = group;
    this.#onKill = onKill;
    this.#limits = limits;
    this.#enforce();
  }

  /** What was sent to the group so far, the stronger one. */
  get sent(): "SIGTERM" | "SIGKILL" | null {
    return this.#killed ? "SIGKILL" : this.#termed ? "SIGTERM" : null;
  }

  /** Once the group is being killed there is no way back: nothing may be granted to what is half dead. */
  move(limits: Limits): void {
    this.#limits = limits;
    if (!this.#killed) this.#enforce();
  }

  kill(): void {
    this.#limits = { ...this.#limits, killAtMs: -Infinity };
    this.#enforce();
  }

  /** To be called when the group is gone: its number may be given to other processes. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #enforce(): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    const nowMs = monotonicMs();
    const { termAtMs, killAtMs } = this.#limits;
    if (this.#killed || nowMs >= killAtMs) {
      this.#group.signal("SIGKILL");
      if (!this.#killed) this.#onKill();
      this.#killed = true;
      // Again until it is gone, for a member that joined the group a moment later.
      this.#again(killAgainMs);
      return;
    }
    if (!this.#termed && nowMs >= termAtMs) {
      this.#termed = true;
      this.#group.signal("SIGTERM");
    }
    const nextMs = this.#termed ? killAtMs : Math.min(termAtMs, killAtMs);
    this.#again(Math.min(Math.ceil(nextMs - nowMs), longestMs));
  }

  /**
   * The timer itself does not enforce: messages that came while this process stood still are read first. The group may be gone since, and its number
   * be that of others.
   */
  #again(afterMs: number): void {
    this.#timer = setTimeout(() => setImmediate(() => this.#enforce()), afterMs);
  }
}
