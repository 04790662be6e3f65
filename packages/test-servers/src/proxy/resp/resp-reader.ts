import { type CommandWords, readCommand } from "./command-words.js";
import type { RespEntry } from "./resp-entry.js";
import { decodeValue, kindOf, RespFailure, type RespValue } from "./resp-value.js";

/** A command that has not been answered completely. */
interface Outstanding {
  entry: RespEntry;
  /** Replies that are still to come. Subscribing is confirmed once for each channel. */
  replies: number;
}

/** How an answer was understood. */
export interface RespAnswer {
  entry: RespEntry;
  /** The command that it answers. */
  command?: RespEntry;
  /** Whether this is the last reply to that command. */
  last: boolean;
}

/**
 * Makes entries of what passes on one connection. It knows which command a reply belongs to, and which values answer no
 * command, in both versions of the protocol.
 */
export class RespReader {
  readonly #connection: number;
  readonly #outstanding: Outstanding[] = [];
  /** The subscribed channels by command: SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE. */
  readonly #channels = new Map<string, Set<string>>();
  #reading: "all" | "monitor" = "all";
  #mute = false;
  #muteNext = false;

  constructor(connection: number) {
    this.#connection = connection;
  }

  /** @returns undefined for an empty command, which Redis ignores. */
  command(bytes: Buffer): RespEntry | undefined {
    const command = readCommand(bytes);
    if (command === undefined) return undefined;
    const { name, key, script } = command;
    const entry = this.#entry("up", "command", name, bytes);
    if (key !== undefined) entry.key = key;
    if (script !== undefined) entry.script = script;
    if (this.#isAnswered(command)) this.#outstanding.push({ entry, replies: this.#repliesTo(command) });
    if (name === "MONITOR") this.#reading = "monitor";
    if (name === "RESET") {
      this.#reading = "all";
      this.#channels.clear();
    }
    return entry;
  }

  answer(bytes: Buffer): RespAnswer {
    const kind = kindOf(bytes);
    const entry = this.#entry("down", "reply", "unsolicited", bytes);
    entry.reply = kind;
    const message = this.#messageIn(bytes, kind);
    const head = this.#outstanding[0];
    if (message !== undefined) {
      const word = String(message[0]);
      // In version 3 confirmations are pushes too, though they answer a command.
      if (!confirmations.has(word) || head?.entry.name !== word.toUpperCase()) {
        entry.kind = "push";
        entry.name = word;
        const channel = message[word === "pmessage" ? 2 : 1];
        if (typeof channel === "string") entry.key = channel;
        return { entry, last: false };
      }
    }
    if (head === undefined || (this.#reading === "monitor" && isMonitored(bytes))) {
      entry.kind = "push";
      return { entry, last: false };
    }
    const { entry: command } = head;
    if (kind === "error") {
      entry.error = failureCode(bytes);
      head.replies = 0; // a refused subscription is refused as a whole
    } else {
      head.replies--;
    }
    const last = head.replies <= 0;
    if (last) this.#outstanding.shift();
    entry.name = command.name;
    const channel = message?.[1];
    const key = typeof channel === "string" ? channel : command.key;
    if (key !== undefined) entry.key = key;
    if (command.script !== undefined) entry.script = command.script;
    return { entry, command, last };
  }

  /** Forgets a command that the server does not get: no reply belongs to it. */
  forget(command: RespEntry): void {
    const at = this.#outstanding.findIndex(({ entry }) => entry === command);
    if (at !== -1) this.#outstanding.splice(at, 1);
  }

  #entry(direction: "up" | "down", kind: RespEntry["kind"], name: string, bytes: Buffer): RespEntry {
    return {
      connection: this.#connection,
      direction,
      kind,
      name,
      bytes: bytes.length,
      at: performance.now(),
      fate: "forwarded",
    };
  }

  /** Clients ask for silence by CLIENT REPLY OFF and SKIP. */
  #isAnswered({ name, words }: CommandWords): boolean {
    if (name === "CLIENT REPLY") {
      const how = words[2]?.toUpperCase();
      this.#mute = how === "OFF";
      this.#muteNext = how === "SKIP";
      return how !== "OFF" && how !== "SKIP";
    }
    const silent = this.#mute || this.#muteNext;
    this.#muteNext = false;
    return !silent;
  }

  #repliesTo({ name, words }: CommandWords): number {
    if (!confirmations.has(name.toLowerCase())) return 1;
    const kind = name.replace("UNSUB", "SUB");
    const channels = this.#channels.get(kind) ?? new Set<string>();
    this.#channels.set(kind, channels);
    const named = words.slice(1);
    if (kind === name) {
      for (const channel of named) channels.add(channel);
      return Math.max(1, named.length);
    }
    // A command without a channel concerns all channels. If there are none, it is answered once.
    const count = named.length > 0 ? named.length : channels.size;
    if (named.length === 0) channels.clear();
    for (const channel of named) channels.delete(channel);
    return Math.max(1, count);
  }

  /** The words of a value that may answer no command. */
  #messageIn(bytes: Buffer, kind: string): RespValue[] | undefined {
    const mayBe = kind === "push" || (kind === "array" && this.#channels.size > 0);
    if (!mayBe) return undefined;
    const value = decodeValue(bytes);
    if (!Array.isArray(value)) return undefined;
    if (kind === "push") return value;
    const word = String(value[0]);
    if (confirmations.has(word)) return value;
    // In version 2 a message looks like any array. A subscriber may not send a command that is answered with an array.
    const subscribed = [...this.#channels.values()].some((channels) => channels.size > 0);
    const leaving = this.#outstanding.some(({ entry }) => entry.name.endsWith("UNSUBSCRIBE"));
    return messages.has(word) && (subscribed || leaving) ? value : undefined;
  }
}

const confirmations: ReadonlySet<string> = new Set([
  "subscribe",
  "psubscribe",
  "ssubscribe",
  "unsubscribe",
  "punsubscribe",
  "sunsubscribe",
]);

const messages: ReadonlySet<string> = new Set(["message", "pmessage", "smessage"]);

function isMonitored(bytes: Buffer): boolean {
  return /^\+\d+\.\d+ \[/.test(bytes.toString("latin1", 0, 40));
}

function failureCode(bytes: Buffer): string {
  const value = decodeValue(bytes);
  return value instanceof RespFailure ? value.code : "";
}
