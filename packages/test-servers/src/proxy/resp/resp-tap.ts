import type { Direction, Link, LinkFilter } from "../link.js";
import type { StreamItem } from "../shaper.js";
import type { RespEntry } from "./resp-entry.js";
import { RespReader } from "./resp-reader.js";
import type { RespAfterLoss, RespRule } from "./resp-rule.js";
import { RespSplitter } from "./resp-splitter.js";
import { encodeCommand } from "./resp-value.js";

/** What the taps of one proxy share: the counters and the rules. */
export interface RespTapOwner {
  /** An entry was read. Counts it. */
  seen(entry: RespEntry): void;
  /** @returns the rule that takes it, if any. */
  ruleFor(entry: RespEntry): RespRule | undefined;
  /** The fate of an entry is known for the first time. Records it. */
  decided(entry: RespEntry): void;
  /** An entry that was held went on after all. */
  changed(entry: RespEntry): void;
  /** The whole answer to a command was passed on to the client. */
  replied(command: RespEntry): void;
  /** The bytes that the client gets in place of a reply or a message, of the same length. */
  rewritten(entry: RespEntry, bytes: Buffer): Buffer;
}

/** A value that was read and waits for its turn. */
interface Passing {
  bytes: Buffer;
  /** Absent for bytes that are not of the protocol. */
  entry?: RespEntry;
  /** The command to which this is the last answer. */
  answers?: RespEntry;
}

/** A whole value, or bytes that are no value. */
interface Arrived {
  bytes: Buffer;
  isValue: boolean;
}

class Lane {
  readonly splitter: RespSplitter;
  readonly queue: (Arrived | "fin")[] = [];
  /** Values that arrived together leave in one write, unless a rule comes between them. */
  batch: Passing[] = [];
  blocked = false;
  silent = false;

  constructor(from: "client" | "server") {
    this.splitter = new RespSplitter(from);
  }
}

/** Reads the commands and replies of one connection and passes them on whole. */
export class RespTap implements LinkFilter {
  readonly #link: Link;
  readonly #owner: RespTapOwner;
  readonly #reader: RespReader;
  readonly #lanes: { up: Lane; down: Lane } = { up: new Lane("client"), down: new Lane("server") };
  /** True if the stream is not RESP, or not any more: then nothing is read. */
  #raw = false;

  constructor(link: Link, owner: RespTapOwner) {
    this.#link = link;
    this.#owner = owner;
    this.#reader = new RespReader(link.id);
  }

  up(item: StreamItem): void {
    this.#take("up", item);
  }

  down(item: StreamItem): void {
    this.#take("down", item);
  }

  #take(direction: Direction, item: StreamItem): void {
    const lane = this.#lanes[direction];
    if (lane.silent) return;
    if (item === "rst") {
      // A reset overtakes everything that waits.
      lane.queue.length = 0;
      this.#send(direction, item);
      return;
    }
    if (item === "fin") {
      const rest = lane.splitter.takeRest();
      if (rest.length > 0) lane.queue.push({ bytes: rest, isValue: false });
      lane.queue.push("fin");
    } else {
      for (const bytes of lane.splitter.push(item)) lane.queue.push({ bytes, isValue: true });
      const last = lane.queue.at(-1);
      if (lane.splitter.raw && typeof last === "object") last.isValue = false;
    }
    this.#pump(direction);
  }

  #pump(direction: Direction): void {
    const lane = this.#lanes[direction];
    while (!lane.blocked && !this.#link.closed) {
      const item = lane.queue.shift();
      if (item === undefined) break;
      if (item === "fin") {
        this.#flush(direction);
        this.#send(direction, item);
      } else {
        const passing = this.#read(direction, item);
        const rule = passing.entry === undefined ? undefined : this.#owner.ruleFor(passing.entry);
        if (rule === undefined || passing.entry === undefined) lane.batch.push(passing);
        else {
          // Earlier values go first, so that the trace has them in this order.
          this.#flush(direction);
          this.#act(direction, { ...passing, entry: passing.entry }, rule);
        }
      }
    }
    this.#flush(direction);
  }

  #read(direction: Direction, { bytes, isValue }: Arrived): Passing {
    if (!isValue) this.#raw = true;
    if (this.#raw) return { bytes };
    if (direction === "up") {
      const entry = this.#reader.command(bytes);
      if (entry === undefined) return { bytes };
      this.#owner.seen(entry);
      if (entry.name === "PSYNC" || entry.name === "SYNC") {
        // What follows is a snapshot and a stream of changes.
        this.#raw = true;
        this.#lanes.up.splitter.giveUp();
        this.#lanes.down.splitter.giveUp();
      }
      return { bytes, entry };
    }
    const { entry, command, last } = this.#reader.answer(bytes);
    this.#owner.seen(entry);
    const rewritten = this.#owner.rewritten(entry, bytes);
    return command !== undefined && last
      ? { bytes: rewritten, entry, answers: command }
      : { bytes: rewritten, entry };
  }

  #act(direction: Direction, passing: Passing & { entry: RespEntry }, rule: RespRule): void {
    const { action } = rule;
    const { entry, bytes } = passing;
    switch (action.do) {
      case "drop":
        this.#lose(direction, entry, action.after);
        return;
      case "refuse":
        this.#lanes[direction].batch.push({ ...passing, bytes: refusalBy(action.answer) });
        return;
      case "cut": {
        const after = action.reset ? "reset" : "cut";
        if (action.at === "before" || action.at === "applied") {
          this.#lose(direction, entry, after);
          return;
        }
        const half = action.at === "mid-command" || action.at === "mid-reply";
        this.#send(direction, half ? bytes.subarray(0, Math.floor(bytes.length / 2)) : bytes);
        this.#decide(entry, half ? "cut" : "forwarded");
        if (!half && passing.answers !== undefined) this.#owner.replied(passing.answers);
        this.#end(direction, after);
        return;
      }
      default: {
        const lane = this.#lanes[direction];
        lane.blocked = true;
        this.#decide(entry, "held");
        rule.keep(() => {
          if (this.#link.closed) return;
          lane.blocked = false;
          lane.batch.push(passing);
          this.#pump(direction);
        });
      }
    }
  }

  #lose(direction: Direction, entry: RespEntry, after: RespAfterLoss): void {
    if (direction === "up") this.#reader.forget(entry);
    this.#decide(entry, "dropped");
    if (after === "silence") {
      this.#lanes[direction].silent = true;
      this.#lanes[direction].queue.length = 0;
    } else if (after !== "go-on") {
      this.#end(direction, after);
    }
  }

  #end(direction: Direction, how: "cut" | "reset"): void {
    if (how === "reset") {
      this.#link.reset();
      return;
    }
    if (direction === "down") {
      this.#link.close();
      return;
    }
    // The end goes behind what is on its way to the server. Closing the link would throw that away while the connection
    // to the server is being made, or while it is delayed.
    this.#send("up", "fin");
    this.#send("down", "fin");
    for (const lane of [this.#lanes.up, this.#lanes.down]) {
      lane.silent = true;
      lane.queue.length = 0;
    }
  }

  #flush(direction: Direction): void {
    const { batch } = this.#lanes[direction];
    this.#lanes[direction].batch = [];
    if (batch.length === 0 || this.#link.closed) return;
    const pieces = batch.map(({ bytes }) => bytes);
    const sent = this.#send(direction, pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
    for (const { entry } of batch) {
      if (entry !== undefined) this.#decide(entry, sent ? "forwarded" : "dropped");
    }
    // After the write, but in the same turn: no reaction of the client to it can have arrived yet.
    if (!sent) return;
    for (const { answers } of batch) if (answers !== undefined) this.#owner.replied(answers);
  }

  #decide(entry: RespEntry, fate: RespEntry["fate"]): void {
    const before = entry.fate;
    entry.fate = fate;
    if (before === "held") this.#owner.changed(entry);
    else this.#owner.decided(entry);
  }

  #send(direction: Direction, item: StreamItem): boolean {
    if (direction === "down") return this.#link.toClient(item);
    this.#link.toServer(item);
    return true;
  }
}

/** A command that the server answers with this error. */
function refusalBy(answer: string): Buffer {
  return encodeCommand(["EVAL", "return redis.error_reply(ARGV[1])", 0, answer]);
}
