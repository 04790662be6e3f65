import type { ProcessGroup } from "./process-group.js";

/** When a command has to end. Both times are in `monotonicMs()`. */
export interface Limits {
  /** From this time on the group is asked to end, by SIGTERM. */
  readonly termAtMs: number;
  /** From this time on the group is killed. */
  readonly killAtMs: number;
}

/** Milliseconds by the monotonic clock, which all processes of a machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

const killAgainMs = 20;
/** The longest delay that a timer accepts. */
const longestMs = 2 ** 31 - 1;

/**
 * Ends a process group at its limits, which move on as long as the lock is known to be held. The supervisor has one
 * `Enforcer`, and the lock client has another with the same SIGKILL limit. Either alone is enough.
 */
export class Enforcer {
  readonly #group: ProcessGroup;
  readonly #onKill: () => void;
  #stopped = false;
  #limits: Limits;
  #timer: NodeJS.Timeout | undefined;
  #termed = false;
  #killed = false;

  /** `onKill` is called once, after the first SIGKILL was sent. */
  constructor(group: ProcessGroup, limits: Limits, onKill: () => void = () => {}) {
    this.#group = group;
    this.#onKill = onKill;
    this.#limits = limits;
    this.#enforce();
  }

  /** The stronger signal that was sent to the group so far. */
  get sent(): "SIGTERM" | "SIGKILL" | null {
    return this.#killed ? "SIGKILL" : this.#termed ? "SIGTERM" : null;
  }

  /** After the first SIGKILL the new limits do not stop the killing: a half-dead command must not go on. */
  move(limits: Limits): void {
    this.#limits = limits;
    if (!this.#killed) this.#enforce();
  }

  kill(): void {
    this.#limits = { ...this.#limits, killAtMs: -Infinity };
    this.#enforce();
  }

  /** Must be called when the group is gone, because its number may then be given to other processes. */
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
      // Kill again until the group is gone: a member may have joined it a moment later.
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
   * The timer does not enforce directly. If this process stood still, messages that came meanwhile are read first. They
   * may say that the group is gone, and its number may already belong to other processes.
   */
  #again(afterMs: number): void {
    this.#timer = setTimeout(() => setImmediate(() => this.#enforce()), afterMs);
  }
}
