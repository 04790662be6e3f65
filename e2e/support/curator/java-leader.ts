import type { LineProcess } from "../process/line-process.js";
import { CuratorRecipe } from "./java-recipe.js";

export interface CuratorParticipant {
  readonly id: string;
  readonly leader: boolean;
}

/** What `LeaderLatch` and `LeaderSelector` have in common. */
class CuratorCandidate extends CuratorRecipe {
  /**
   * What its listener received, oldest first. A latch: `leader` and `notLeader`. A selector: `took`, then `resigned` or
   * `interrupted`, for each call of its callback.
   */
  readonly events: readonly string[];

  constructor(lines: LineProcess, kind: string, remoteName: string) {
    super(lines, kind, remoteName);
    const events: string[] = [];
    this.listen(([word = ""]) => events.push(word));
    this.events = events;
  }

  hasLeadership(): Promise<boolean> {
    return this.askWhether("hasLeadership");
  }

  /** `null` while there is no candidate. */
  async leader(): Promise<CuratorParticipant | null> {
    const [leader] = participants(await this.ask("leader"));
    return leader?.leader === true ? leader : null;
  }

  /** In Curator's order. */
  async participants(): Promise<CuratorParticipant[]> {
    return participants(await this.ask("participants"));
  }
}

/** One `LeaderLatch`. */
export class CuratorLeaderLatch extends CuratorCandidate {
  /** Stands for election, once. Returns before it is elected. */
  async start(): Promise<void> {
    await this.ask("start");
  }

  /** `null` while it has no node. */
  async ourPath(): Promise<string | null> {
    return (await this.ask("ourPath"))[0] ?? null;
  }

  /**
   * With `notify`, the listener of a leader receives `notLeader`. Without it, which is Curator's default, it receives nothing.
   */
  async close(options: { readonly notify?: boolean } = {}): Promise<void> {
    await this.ask("close", [options.notify === true ? "NOTIFY_LEADER" : "SILENT"]);
  }
}

/** One `LeaderSelector`, whose callback leads until it resigns or is interrupted. */
export class CuratorLeaderSelector extends CuratorCandidate {
  /** How often its callback was called. */
  get terms(): number {
    return this.events.filter((event) => event === "took").length;
  }

  /** Stands for election. Returns before it is elected. */
  async start(): Promise<void> {
    await this.ask("start");
  }

  /** Stands for election again. False when it already stands. */
  requeue(): Promise<boolean> {
    return this.askWhether("requeue");
  }

  /** Lets the callback return as soon as it runs. Rejects when the candidate does not lead within 5 s. */
  async resign(): Promise<void> {
    await this.ask("resign");
  }

  async interrupt(): Promise<void> {
    await this.ask("interrupt");
  }

  async close(): Promise<void> {
    await this.ask("close");
  }
}

function participants(words: readonly string[]): CuratorParticipant[] {
  const found: CuratorParticipant[] = [];
  for (let at = 0; at < words.length; at += 2) {
    found.push({ id: words[at] ?? "", leader: words[at + 1] === "true" });
  }
  return found;
}
