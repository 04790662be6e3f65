import { joinPath } from "@holdfast/zk-protocol";
import { holdersOf } from "../../layout/recognise.js";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError, WatchHandle } from "../../session/types.js";
import { isFinal } from "../session/failures.js";
import type { SessionContext } from "../session-context.js";
import type { SessionSequence } from "../session-sequence.js";

/**
 * Calls `changed` whenever the queue of `path` may look different: its children, or the data of a node that holds. Each
 * observer has one watch on the children and one on the data of the first holder; waiters are not watched. `changed` is
 * called once the new watches are in place, so that a look after it misses nothing. It goes on over reconnects and new
 * sessions.
 */
export function watchQueue(sessions: SessionSequence, path: string, changed: () => void): () => void {
  const watch = new QueueWatch(sessions, path, changed);
  watch.start();
  return () => watch.stop();
}

class QueueWatch {
  readonly #sessions: SessionSequence;
  readonly #path: string;
  readonly #changed: () => void;
  /** Counts the listings. Answers that belong to an earlier one are ignored. */
  #round = 0;
  #children: WatchHandle | null = null;
  #head: { readonly name: string; readonly handle: WatchHandle } | null = null;
  #notOver: () => void = () => {};
  #stopped = false;

  constructor(sessions: SessionSequence, path: string, changed: () => void) {
    this.#sessions = sessions;
    this.#path = path;
    this.#changed = changed;
  }

  /**
   * Watches on the present session, and on its successors after it. If there is no session any more, the next look shows
   * that.
   */
  start(): void {
    const { context } = this.#sessions;
    // If the session is over by the clock alone, its `whenOver` is still to come.
    if (this.#stopped) return;
    this.#children = null;
    this.#head = null;
    this.#notOver = context.whenOver(() => {
      this.start();
      this.#report();
    });
    context.whenUsable(() => this.#list(context));
  }

  stop(): void {
    this.#stopped = true;
    this.#notOver();
    this.#children?.remove();
    this.#dropHead();
  }

  #list(context: SessionContext): void {
    if (this.#stopped || context.over) return;
    const round = ++this.#round;
    this.#children?.drop();
    this.#children = context.session.watchChildren(this.#path, {
      answered: (outcome) => {
        if (this.#stopped || this.#round !== round) return;
        if (outcome.ok) this.#watchHead(context, outcome.value.children);
        else this.#refused(context, outcome.error, () => this.#awaitPath(context));
      },
      fired: () => this.#list(context),
    });
  }

  /** There is no such path yet, or the path is gone. */
  #awaitPath(context: SessionContext): void {
    const round = this.#round;
    this.#dropHead();
    this.#children = context.session.watchExists(this.#path, {
      answered: (outcome) => {
        if (this.#stopped || this.#round !== round) return;
        if (!outcome.ok) this.#refused(context, outcome.error, () => this.#report());
        else if (outcome.value === null) this.#report();
        // The path was made after the listing.
        else this.#list(context);
      },
      fired: () => this.#list(context),
    });
  }

  #watchHead(context: SessionContext, children: readonly string[]): void {
    const [name] = holdersOf(children);
    if (name !== undefined && this.#head?.name === name) return this.#report();
    this.#dropHead();
    if (name === undefined) return this.#report();
    const handle = context.session.watchData(joinPath(this.#path, name), {
      answered: (outcome) => {
        if (this.#stopped || this.#head?.handle !== handle) return;
        if (outcome.ok) return this.#report();
        this.#head = null;
        const { error } = outcome;
        if (!isFinal(error)) this.#listLater(context, error);
        // The node is gone already, which the watch on the children reports; or the server does not let us read it.
        else this.#report();
      },
      fired: (type) => {
        if (this.#stopped || this.#head?.handle !== handle) return;
        this.#head = null;
        if (type !== "deleted") this.#watchHead(context, children);
      },
    });
    this.#head = { name, handle };
  }

  #dropHead(): void {
    this.#head?.handle.remove();
    this.#head = null;
  }

  #refused(context: SessionContext, error: RequestError, otherwise: () => void): void {
    if (!isFinal(error)) this.#listLater(context, error);
    else if (saysNoNode(error)) otherwise();
    // Refused for good: the next look is refused too, and its error says why.
    else this.#report();
  }

  /** The request was not answered, or the server is too busy: starts over later. */
  #listLater(context: SessionContext, error: RequestError): void {
    const round = this.#round;
    context.again(error, () => {
      if (this.#round === round) this.#list(context);
    });
  }

  #report(): void {
    if (!this.#stopped) this.#changed();
  }
}
