import { ConnectionFaults, type DownFate, type Steps, type UpFate } from "./connection-faults.js";
import { ConnectionReader } from "./connection-reader.js";
import { FrameSplitter } from "./frame-splitter.js";
import type { Link, LinkFilter } from "./link.js";
import type { ProxyFaults } from "./proxy-faults.js";
import type { FrameRule } from "./rules.js";
import type { StreamItem } from "./shaper.js";
import type { TraceEntry } from "./trace.js";

/** What the taps of one proxy share: the counters and the rules. */
export interface TapOwner {
  readonly faults: ProxyFaults;
  /** A frame was read. Counts it. */
  seen(entry: TraceEntry): void;
  /** @returns the rule that takes it, if any. */
  ruleFor(entry: TraceEntry): FrameRule | undefined;
  /** The fate of a frame is known for the first time. Records it. */
  decided(entry: TraceEntry): void;
  /** A frame that was held went on after all. */
  changed(entry: TraceEntry): void;
  /** A reply was passed on to the client. */
  replied(request: TraceEntry): void;
}

/** A frame, or bytes that are no frame, waiting for its turn. */
interface Waiting {
  bytes: Buffer;
  /** True for bytes that are no frame, and for a frame that has been through the rules already. */
  done: boolean;
}

type Direction = "up" | "down";

/**
 * Reads the ZooKeeper frames of one connection and passes them on whole. Frames that arrived in one chunk leave in
 * one write, unless a rule comes between them.
 */
export class ZooKeeperTap implements LinkFilter {
  readonly reader: ConnectionReader;
  readonly #link: Link;
  readonly #owner: TapOwner;
  readonly #lanes: { up: Lane; down: Lane } = { up: new Lane(), down: new Lane() };
  readonly #faults: ConnectionFaults;
  /** The request that keeps later ones from the server until it is applied. */
  #awaited: TraceEntry | undefined;

  constructor(link: Link, owner: TapOwner) {
    this.#link = link;
    this.#owner = owner;
    this.reader = new ConnectionReader(link.id);
    this.#faults = new ConnectionFaults(owner.faults, this.reader);
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
      if (rest.length > 0) lane.queue.push({ bytes: rest, done: true });
      lane.queue.push("fin");
    } else {
      for (const bytes of lane.splitter.push(item)) lane.queue.push({ bytes, done: false });
      if (lane.splitter.raw) {
        const last = lane.queue.at(-1);
        if (typeof last === "object") last.done = true;
      }
    }
    this.#pump(direction);
  }

  #pump(direction: Direction): void {
    const lane = this.#lanes[direction];
    const batch = new Batch();
    while (!lane.blocked && !this.#link.closed) {
      const item = lane.queue.shift();
      if (item === undefined) break;
      if (item === "fin") {
        this.#flush(direction, batch);
        this.#send(direction, item);
      } else if (item.done) {
        batch.bytes.push(item.bytes);
      } else {
        this.#frame(direction, item.bytes, batch);
      }
    }
    this.#flush(direction, batch);
  }

  #frame(direction: Direction, bytes: Buffer, batch: Batch): void {
    const { entry, request } =
      direction === "up"
        ? { entry: this.reader.request(bytes), request: undefined }
        : this.reader.answer(bytes);
    this.#owner.seen(entry);
    // Either the faults or the rules decide about a frame, never both.
    if (direction === "up") {
      const steps = this.#faults.request(entry, bytes);
      if (steps !== undefined) {
        this.#flush(direction, batch);
        this.#walk("up", entry, steps, (fate) => this.#sendUp(entry, fate));
        return;
      }
    } else {
      const steps =
        entry.kind === "event" ? this.#faults.event(entry, bytes) : this.#faults.reply(entry, request, bytes);
      if (steps !== undefined) {
        this.#flush(direction, batch);
        this.#walk("down", entry, steps, (fate) => this.#sendDown(entry, request, fate));
        return;
      }
    }
    const rule = this.#owner.ruleFor(entry);
    if (rule === undefined) {
      batch.add(bytes, entry, request);
      return;
    }
    // Earlier frames go first, so that the trace has them in this order.
    this.#flush(direction, batch);
    if (rule.action === "drop") this.#drop(direction, entry, rule);
    else this.#hold(direction, bytes, entry, request, rule);
  }

  /** Continues with a frame until it has to wait, and again when the wait is over. */
  #walk<Fate>(direction: Direction, entry: TraceEntry, steps: Steps<Fate>, end: (fate: Fate) => void): void {
    const lane = this.#lanes[direction];
    const step = steps.next();
    if (step.done === true) {
      end(step.value);
      return;
    }
    lane.blocked = true;
    if (entry.fate !== "held") {
      entry.fate = "held";
      this.#owner.decided(entry);
    }
    step.value.onOpen(() => {
      if (this.#link.closed) return;
      lane.blocked = false;
      this.#walk(direction, entry, steps, end);
      this.#pump(direction);
    });
  }

  #sendUp(entry: TraceEntry, fate: UpFate): void {
    if (fate.kind === "forward") {
      this.#send("up", fate.bytes);
      this.#settle(entry, "forwarded");
      if (fate.thenWait) {
        this.#awaited = entry;
        this.#lanes.up.blocked = true;
      }
      return;
    }
    this.reader.forget(entry);
    this.#settle(entry, "dropped");
    if (fate.kind === "close") this.#close(fate.reset);
    if (fate.kind === "deaf") this.#silence("up", "down");
    if (fate.kind === "reply-and-close") {
      this.#send("down", fate.bytes);
      this.#link.close();
    }
  }

  #sendDown(entry: TraceEntry, request: TraceEntry | undefined, fate: DownFate): void {
    if (fate.kind !== "send") {
      this.#settle(entry, "dropped");
      if (fate.kind === "close") this.#close(fate.reset);
      return;
    }
    const sent = fate.bytes.length > 0 && this.#send("down", fate.bytes);
    this.#settle(entry, sent ? "forwarded" : "dropped");
    if (sent && fate.next === "go-on" && request !== undefined) this.#owner.replied(request);
    if (fate.next === "close") this.#link.close();
    if (fate.next === "stall") this.#silence("down");
    if (fate.next === "deaf") this.#silence("up", "down");
    if (request !== undefined && request === this.#awaited && fate.next !== "deaf") {
      this.#awaited = undefined;
      this.#lanes.up.blocked = false;
      this.#pump("up");
    }
  }

  #settle(entry: TraceEntry, fate: TraceEntry["fate"]): void {
    const before = entry.fate;
    entry.fate = fate;
    if (before === "held") this.#owner.changed(entry);
    else this.#owner.decided(entry);
  }

  #close(reset: boolean): void {
    if (reset) this.#link.reset();
    else this.#link.close();
  }

  /** From now on nothing passes in these directions, not even an end. */
  #silence(...directions: Direction[]): void {
    for (const direction of directions) {
      this.#lanes[direction].silent = true;
      this.#lanes[direction].queue.length = 0;
    }
  }

  #drop(direction: Direction, entry: TraceEntry, rule: FrameRule): void {
    const lane = this.#lanes[direction];
    entry.fate = "dropped";
    this.#owner.decided(entry);
    if (rule.drop.thenSilence === true) {
      lane.silent = true;
      lane.queue.length = 0;
    }
    if (rule.drop.thenCut === true) this.#link.close();
  }

  #hold(
    direction: Direction,
    bytes: Buffer,
    entry: TraceEntry,
    request: TraceEntry | undefined,
    rule: FrameRule,
  ): void {
    const lane = this.#lanes[direction];
    const alone = rule.hold.alone === true;
    entry.fate = "held";
    this.#owner.decided(entry);
    if (!alone) lane.blocked = true;
    rule.keep(this.#link.id, () => {
      if (this.#link.closed) return;
      if (!alone) lane.blocked = false;
      entry.fate = this.#send(direction, bytes) ? "forwarded" : "dropped";
      this.#owner.changed(entry);
      if (entry.fate === "forwarded" && request !== undefined) this.#owner.replied(request);
      this.#pump(direction);
    });
  }

  #flush(direction: Direction, batch: Batch): void {
    if (batch.bytes.length === 0 || this.#link.closed) return;
    const bytes = batch.bytes.length === 1 ? (batch.bytes[0] as Buffer) : Buffer.concat(batch.bytes);
    const { entries, requests } = batch.take();
    const sent = this.#send(direction, bytes);
    for (const entry of entries) {
      entry.fate = sent ? "forwarded" : "dropped";
      this.#owner.decided(entry);
    }
    // After the write, but in the same turn: no reaction of the client to it can have arrived yet.
    if (sent) for (const request of requests) this.#owner.replied(request);
  }

  #send(direction: Direction, item: StreamItem): boolean {
    if (direction === "down") return this.#link.toClient(item);
    this.#link.toServer(item);
    return true;
  }
}

class Lane {
  readonly splitter: FrameSplitter = new FrameSplitter();
  readonly queue: (Waiting | "fin")[] = [];
  blocked = false;
  silent = false;
}

class Batch {
  bytes: Buffer[] = [];
  #entries: TraceEntry[] = [];
  #requests: TraceEntry[] = [];

  add(bytes: Buffer, entry: TraceEntry, request: TraceEntry | undefined): void {
    this.bytes.push(bytes);
    this.#entries.push(entry);
    if (request !== undefined) this.#requests.push(request);
  }

  take(): { entries: TraceEntry[]; requests: TraceEntry[] } {
    const taken = { entries: this.#entries, requests: this.#requests };
    this.bytes = [];
    this.#entries = [];
    this.#requests = [];
    return taken;
  }
}
