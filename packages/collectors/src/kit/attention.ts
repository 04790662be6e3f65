/** What a collector does when viewers begin and cease to look at a lock. */
export interface AttentionHooks {
  /** A viewer begins to look at the lock; others may look at it already. */
  readonly looked?: (key: string) => void;
  /** The last viewer of the lock has gone. */
  readonly left?: (key: string) => void;
}

/** The locks that viewers have on screen, with the number of viewers of each. */
export class Attention {
  readonly #viewers = new Map<string, number>();
  readonly #hooks: AttentionHooks;

  constructor(hooks: AttentionHooks = {}) {
    this.#hooks = hooks;
  }

  has(key: string): boolean {
    return this.#viewers.has(key);
  }

  /** The first `most` keys that viewers look at, in the order in which they came on screen. */
  keys(most: number = Number.POSITIVE_INFINITY): string[] {
    const keys: string[] = [];
    for (const key of this.#viewers.keys()) {
      if (keys.length >= most) break;
      keys.push(key);
    }
    return keys;
  }

  /** Adds one viewer, who looks at these keys until the list is updated or ended. */
  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    let own: ReadonlySet<string> = new Set();
    const update = (wanted: readonly string[]): void => {
      const next = new Set(wanted);
      for (const key of next) if (!own.has(key)) this.#look(key);
      for (const key of own) if (!next.has(key)) this.#leave(key);
      own = next;
    };
    update(keys);
    return { update, end: () => update([]) };
  }

  #look(key: string): void {
    this.#viewers.set(key, (this.#viewers.get(key) ?? 0) + 1);
    this.#hooks.looked?.(key);
  }

  #leave(key: string): void {
    const left = (this.#viewers.get(key) ?? 1) - 1;
    if (left > 0) {
      this.#viewers.set(key, left);
      return;
    }
    this.#viewers.delete(key);
    this.#hooks.left?.(key);
  }
}
