import type { ActionResult } from "@holdfast/core/observe";
import type { ReplyError } from "../client/errors.js";
import type { RedissonPublish } from "../layout/channels.js";
import type { Link } from "./link.js";
import type { Places } from "./places.js";
import { isMoved } from "./reader.js";

export type Outcome = Pick<ActionResult, "outcome" | "effects">;

const maxRedirections = 3;

/** Where the scripts of actions run. Rejects where the backend cannot be asked, or refuses. */
export class ActionDesk {
  readonly places: Places;
  readonly fairLockWaitTimeoutMs: number;

  constructor(places: Places, fairLockWaitTimeoutMs: number) {
    this.places = places;
    this.fairLockWaitTimeoutMs = fairLockWaitTimeoutMs;
  }

  /** In a cluster a fleet may listen either way; to nobody listening it costs a command. */
  get publish(): RedissonPublish {
    return this.places.clustered ? "both" : "publish";
  }

  master(key: string): Link {
    const link = this.places.masterOf(key);
    if (link === null) throw new Error(`no server is known that serves ${JSON.stringify(key)}; try again`);
    return link;
  }

  async eval(
    key: string,
    lua: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly unknown[]> {
    for (let tries = 0; ; tries++) {
      try {
        const reply = await this.master(key).ask("eval", lua, keys.length, ...keys, ...args);
        if (Array.isArray(reply)) return reply;
        throw new Error(`a script answered ${JSON.stringify(reply)}`);
      } catch (error) {
        // Refused as a whole: nothing was done.
        if (!isMoved(error) || (error as ReplyError).kind === "ask" || tries >= maxRedirections) throw error;
        this.places.outdated();
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  }
}

/** What a script answered. `done`: its word for having done it. */
export function outcomeOf(reply: readonly unknown[], done: string, effects: readonly string[]): Outcome {
  switch (reply[0]) {
    case done:
      return { outcome: "done", effects };
    case "same":
      return { outcome: "would-do", effects };
    case "free":
      return { outcome: "nothing-there", effects: [] };
    default:
      // changed, other, conflict: not what it was.
      return { outcome: "conflict", effects: [] };
  }
}

/** Nobody would hear, or nothing could come of it. */
export function unsupported(why: string): Outcome {
  return { outcome: "unsupported", effects: [why] };
}
