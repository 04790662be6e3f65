// The keys and their commands. Single keys disturb people who use speech input, so all of them can be switched off.

export type Command =
  | { readonly do: "search" | "pause" | "help" }
  | { readonly do: "row"; readonly by: 1 | -1 }
  | { readonly do: "go"; readonly path: string };

export const places: Readonly<Record<string, readonly [path: string, name: string]>> = {
  o: ["", "Overview"],
  l: ["locks", "Locks"],
  s: ["sessions", "Sessions"],
  b: ["backends", "Backends"],
  f: ["findings", "Findings"],
  w: ["waits", "Waits"],
  c: ["schedules", "Schedules"],
  r: ["ranking", "Ranking"],
  a: ["audit", "Audit"],
};

export interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  /** Whether the user writes text, or a dialog is open. */
  readonly busy: boolean;
}

const pairMs = 1500;

/** Turns presses into commands; remembers a `g` for 1.5 s. */
export class Shortcuts {
  #goneMs: number | null = null;

  press({ key, ctrlKey, metaKey, altKey, busy }: Press, nowMs: number): Command | null {
    const pair = this.#goneMs !== null && nowMs - this.#goneMs <= pairMs;
    this.#goneMs = null;
    if (busy || ctrlKey || metaKey || altKey) return null;
    if (pair) {
      const place = Object.hasOwn(places, key) ? places[key] : undefined;
      return place === undefined ? null : { do: "go", path: place[0] };
    }
    switch (key) {
      case "g":
        this.#goneMs = nowMs;
        return null;
      case "/":
        return { do: "search" };
      case "p":
        return { do: "pause" };
      case "?":
        return { do: "help" };
      case "j":
        return { do: "row", by: 1 };
      case "k":
        return { do: "row", by: -1 };
      default:
        return null;
    }
  }
}
