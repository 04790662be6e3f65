import { joinPath } from "@holdfast/zk-protocol";
import { holdersOf } from "../layout/recognise.js";
import { saysNoNode } from "../session/errors.js";
import type { RequestError, WatchHandle } from "../session/types.js";
import { isFinal } from "./failures.js";
import type { SessionDesk } from "./session-desk.js";
import type { SessionLine } from "./session-line.js";

/**
 * Calls `changed` whenever the queue of `path` may look different: its children, or the data of a node that holds. One watch on
 * the children and one on the data of the first holder, for each observer; waiters are not watched. It is called once the new
 * watches are in place, so that a look that follows misses nothing, and goes on over reconnects and new sessions.
 */
export function watchQueue(line: SessionLine, path: string, changed: () => void): () => void {
  const watch = new QueueWatch(line, path, changed);
  watch.start();
  return () => watch.stop();
}

class QueueWatch {
  readonly #line: SessionLine;
  readonly #path: string;
  readonly #changed: () => void;
  /** Counts listings: what belongs to an earlier one is not listened to any more. */
  #round = 0;
  #children: WatchHandle | null = null;
  #head: { readonly name: string; readonly handle: WatchHandle } | null = null;
  #notWaiting: () => void = () => {};
  #notOver: () => void = () => {};
  #stopped = false;

  constructor(line: SessionLine, path: string, changed: () => void) {
    this.#line = line;
    this.#path = path;
    this.#changed = changed;
  }

  /** On the present session or the next that connects. */
  start(): void {
    this.#notWaiting = this.#line.onceConnected(
      () => this.#startOn(this.#line.desk),
      // There will be no other session, and the next look shows that.
      () => this.#report(),
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#notWaiting();
    this.#notOver();
    this.#children?.remove();
    this.#dropHead();
  }

  #startOn(desk: SessionDesk): void {
    if (this.#stopped) return;
    this.#children = null;
    this.#head = null;
    this.#notOver = desk.whenOver(() => {
      this.start();
      this.#report();
    });
    this.#list(desk);
  }

  #list(desk: SessionDesk): void {
    if (this.#stopped || desk.over) return;
    const round = ++this.#round;
    this.#children?.drop();
    this.#children = desk.session.watchChildren(this.#path, {
      answered: (outcome) => {
        if (this.#stopped || this.#round !== round) return;
        if (outcome.ok) this.#watchHead(desk, outcome.value.children);
        else this.#refused(desk, outcome.error, () => this.#awaitPath(desk));
      },
      fired: () => this.#list(desk),
    });
  }

  /** There is no such path yet, or no more. */
  #awaitPath(desk: SessionDesk): void {
    const round = this.#round;
    this.#dropHead();
    this.#children = desk.session.watchExists(this.#path, {
      answered: (outcome) => {
        if (this.#stopped || this.#round !== round) return;
        if (!outcome.ok) this.#refused(desk, outcome.error, () => this.#report());
        else if (outcome.value === null) this.#report();
        // Made since the listing.
        else this.#list(desk);
      },
      fired: () => this.#list(desk),
    });
  }

  #watchHead(desk: SessionDesk, children: readonly string[]): void {
    const [name] = holdersOf(children);
    if (name !== undefined && this.#head?.name === name) return this.#report();
    this.#dropHead();
    if (name === undefined) return this.#report();
    const handle = desk.session.watchData(joinPath(this.#path, name), {
      answered: (outcome) => {
        if (this.#stopped || this.#head?.handle !== handle) return;
        if (outcome.ok) return this.#report();
        this.#head = null;
        const { error } = outcome;
        if (!isFinal(error)) this.#listLater(desk, error);
        // Gone already, which the watch on the children reports; or refused to us.
        else this.#report();
      },
      fired: (type) => {
        if (this.#stopped || this.#head?.handle !== handle) return;
        this.#head = null;
        if (type !== "deleted") this.#watchHead(desk, children);
      },
    });
    this.#head = { name, handle };
  }

  #dropHead(): void {
    this.#head?.handle.remove();
    this.#head = null;
  }

  #refused(desk: SessionDesk, error: RequestError, otherwise: () => void): void {
    if (!isFinal(error)) this.#listLater(desk, error);
    else if (saysNoNode(error)) otherwise();
    // Refused for good: the next look is refused too, and says why.
    else this.#report();
  }

  /** Not answered, or the server is too busy: all over again. */
  #listLater(desk: SessionDesk, error: RequestError): void {
    const round = this.#round;
    const again = (): void => {
      if (this.#round === round) this.#list(desk);
    };
    desk.again(error, again);
  }

  #report(): void {
    if (!this.#stopped) this.#changed();
  }
}
