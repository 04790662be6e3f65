import type { Owner } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Hold } from "../grants/hold.js";

interface Account {
  hold: Hold | undefined;
  asking: boolean;
  readonly waiting: Set<() => void>;
}

/** Which owner holds, or is asking for, which re-entrant lock of one provider. Owners are local: no other process sees them. */
export class OwnerBooks {
  readonly #accounts = new Map<string, Account>();

  find(name: string, owner: Owner): Hold | undefined {
    return this.#accounts.get(key(name, owner))?.hold;
  }

  asking(name: string, owner: Owner): boolean {
    return this.#accounts.get(key(name, owner))?.asking === true;
  }

  begin(name: string, owner: Owner): void {
    this.#accounts.set(key(name, owner), { hold: undefined, asking: true, waiting: new Set() });
  }

  enter(hold: Hold): void {
    const account = this.#accounts.get(key(hold.name, hold.owner));
    // Over before its caller has it, by the clock: its end has been told already.
    if (account === undefined || !hold.check()) return;
    account.hold = hold;
    hold.onEnd = () => {
      account.hold = undefined;
      this.#drop(hold.name, hold.owner, account);
    };
  }

  finish(name: string, owner: Owner): void {
    const account = this.#accounts.get(key(name, owner));
    if (account === undefined) return;
    account.asking = false;
    const woken = [...account.waiting];
    account.waiting.clear();
    this.#drop(name, owner, account);
    for (const wake of woken) wake();
  }

  whenAsked(name: string, owner: Owner, wake: () => void): () => void {
    const waiting = this.#accounts.get(key(name, owner))?.waiting;
    waiting?.add(wake);
    return () => waiting?.delete(wake);
  }

  #drop(name: string, owner: Owner, account: Account): void {
    const accountKey = key(name, owner);
    if (account.hold !== undefined || account.asking) return;
    if (this.#accounts.get(accountKey) === account) this.#accounts.delete(accountKey);
  }
}

/** The length keeps apart what a separator inside a name could join. */
function key(name: string, owner: Owner): string {
  return `${name.length}:${name}${owner.id}`;
}

const books = new WeakMap<GrantEngine, OwnerBooks>();

export function booksOf(engine: GrantEngine): OwnerBooks {
  let found = books.get(engine);
  if (found === undefined) {
    found = new OwnerBooks();
    books.set(engine, found);
  }
  return found;
}
