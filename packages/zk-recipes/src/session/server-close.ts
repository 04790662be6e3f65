import type { Millis, Runtime } from "@holdfast/core";
import type { Link } from "../client/link.js";
import type { LinkListener } from "../client/link-listener.js";
import { PlainPacket } from "../client/pending-queue.js";
import { noPaths, type WatchedPaths } from "../client/set-watches.js";

/**
 * The end of a session of our own: closes it at the server, so that its nodes go now rather than at the session time-out.
 * It takes as many connections as it needs within the limit. At the limit it ends the connection, whatever the server
 * does.
 */
export class ServerClose implements LinkListener {
  readonly done: Promise<void>;
  readonly #link: Link;
  readonly #runtime: Runtime;
  readonly #stepMs: Millis;
  #cancelLimit: () => void;
  #cancelStep: (() => void) | null = null;
  #finished: () => void = () => {};
  #ended = false;

  /** `ref`: a caller waits for the end, so the process stays alive. `false` after a loss, when no caller waits for the end. */
  constructor(link: Link, runtime: Runtime, limitMs: Millis, ref: boolean) {
    this.#link = link;
    this.#runtime = runtime;
    // Enough time for at least two servers, in case the first does not answer.
    this.#stepMs = Math.max(100, limitMs / 2);
    this.done = new Promise((resolve) => {
      this.#finished = resolve;
    });
    this.#cancelLimit = runtime.setTimer(limitMs, () => this.#end(), { ref });
    link.listen(this);
    link.hold(ref);
    if (link.stopped) this.#end();
    else if (link.up) this.#say();
    else this.#step();
  }

  /** From now on a caller waits for the end, for at most `limitMs`, and the process stays alive. */
  within(limitMs: Millis): Promise<void> {
    if (this.#ended) return this.done;
    this.#cancelLimit();
    this.#cancelLimit = this.#runtime.setTimer(limitMs, () => this.#end(), { ref: true });
    this.#link.hold(true);
    return this.done;
  }

  watched(): WatchedPaths {
    return noPaths;
  }

  dialling(): void {}
  greeting(): void {}
  broken(): void {}
  received(): void {}
  event(): void {}
  up(): void {}

  greeted(): void {
    this.#say();
  }

  /** The session is over already: nothing is left to close. */
  expired(): void {
    this.#end();
  }

  authFailed(): void {
    this.#end();
  }

  /** The link goes on to the next server by itself. */
  down(): void {
    this.#step();
  }

  over(): void {
    this.#end();
  }

  #say(): void {
    this.#step();
    this.#link.send("closeSession", undefined, new PlainPacket(this.#runtime.nowMs(), () => this.#end()));
  }

  /** Leaves the server if it does not answer in time. */
  #step(): void {
    if (this.#ended) return;
    this.#cancelStep?.();
    this.#cancelStep = this.#runtime.setTimer(this.#stepMs, () => {
      this.#link.cut("no answer to the end of the session");
      this.#step();
    });
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelLimit();
    this.#cancelStep?.();
    this.#link.stop();
    this.#finished();
  }
}
