import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { nobodysHash, verifyPassword } from "./passwords.js";
import type { Principal, Role } from "./roles.js";

/** A user who comes in by name and password. */
export interface BasicUser {
  /** Shown on the page and in the audit. */
  readonly name: string;
  /** What this user may do. */
  readonly role: Role;
  /** The hash that `hashPassword` makes. */
  readonly passwordHash: string;
}

/** A caller that comes in by a token. */
export interface BearerToken {
  /** Shown in the audit. */
  readonly name: string;
  /** What this token may do. */
  readonly role: Role;
  /** The secret itself. */
  readonly token: string;
}

/** A value, or a function that gives it as it is now. */
export type Live<T> = T | (() => T);

/** What it is now. */
export function current<T extends object>(live: Live<T>): T {
  return typeof live === "function" ? live() : live;
}

/** What a header has proved. That stays true; whether it lets in is asked anew each time, as users and tokens may change. */
export type Proof = { readonly user: string; readonly passwordHash: string } | { readonly digest: Buffer };

/** Too many passwords are being checked at this moment. */
export class BusyError extends Error {
  override readonly name: string = "BusyError";
}

/** How long a header that was right is remembered, since it was used last. */
const keptMs = 300_000;
const longestName = 256;
const mostKept = 1_000;
/** scrypt takes memory and a thread of the pool each. */
const mostAtOnce = 2;
const mostWaiting = 32;

/** The users and tokens of one moment. */
class Callers {
  readonly #users: ReadonlyMap<string, BasicUser>;
  readonly #tokens: readonly { readonly digest: Buffer; readonly principal: Principal }[];

  constructor(users: readonly BasicUser[], tokens: readonly BearerToken[]) {
    this.#users = new Map(users.map((user) => [user.name, user]));
    this.#tokens = tokens.map(({ name, role, token }) => ({
      digest: sha256(token),
      principal: { name, role },
    }));
  }

  get offersBasic(): boolean {
    return this.#users.size > 0;
  }

  get empty(): boolean {
    return this.#users.size + this.#tokens.length === 0;
  }

  user(name: string): BasicUser | undefined {
    return this.#users.get(name);
  }

  /** The caller that a proof stands for now; `null`: its user, password or token is gone. */
  holderOf(proof: Proof): Principal | null {
    if ("digest" in proof) return this.#holderOfToken(proof.digest);
    const user = this.#users.get(proof.user);
    if (user === undefined || user.passwordHash !== proof.passwordHash) return null;
    return { name: user.name, role: user.role };
  }

  /** All are compared, each in constant time: how long it takes says nothing. */
  #holderOfToken(digest: Buffer): Principal | null {
    let found: Principal | null = null;
    for (const each of this.#tokens) if (timingSafeEqual(each.digest, digest)) found = each.principal;
    return found;
  }
}

/**
 * The dashboard's own check of an `authorization` header. A password that was right is remembered until it was not used for 5 minutes, under a key of this
 * process, as browsers send it with every request and scrypt is slow on purpose. What is remembered is which hash it fits: it lets in as long as the
 * user has that hash, and with the role that the user has now.
 */
export class Credentials {
  readonly #known: {
    readonly users: Live<readonly BasicUser[]>;
    readonly tokens: Live<readonly BearerToken[]>;
  };
  readonly #now: () => number;
  readonly #key: Buffer = randomBytes(32);
  readonly #right: Map<string, { readonly proof: Proof; readonly untilMs: number }> = new Map();
  readonly #underWay: Map<string, Promise<Proof | null>> = new Map();
  readonly #queue: (() => void)[] = [];
  #checking = 0;
  #users: readonly BasicUser[] = [];
  #tokens: readonly BearerToken[] = [];
  #made: Callers = new Callers([], []);

  constructor(
    known: { readonly users: Live<readonly BasicUser[]>; readonly tokens: Live<readonly BearerToken[]> },
    now: () => number,
  ) {
    this.#known = known;
    this.#now = now;
  }

  /** There are no users and no tokens: what a client sends is meant for another server. */
  get empty(): boolean {
    return this.#callers.empty;
  }

  get offersBasic(): boolean {
    return this.#callers.offersBasic;
  }

  /** The principal that a proof lets in now; `null`: its user, password or token is gone. */
  holderOf(proof: Proof): Principal | null {
    return this.#callers.holderOf(proof);
  }

  /** The proof of a header that was right lately or has a token, without a check. `null`: the header is wrong, or must be checked first. */
  known(authorization: string): Proof | null {
    const name = this.#nameOf(authorization);
    const known = this.#right.get(name);
    const proof = known !== undefined && known.untilMs > this.#now() ? known.proof : tokenOf(authorization);
    if (proof === null || this.holderOf(proof) === null) return null;
    if (proof === known?.proof) this.#remember(name, proof);
    return proof;
  }

  /** The check of the same header that has not ended. */
  underWay(authorization: string): Promise<Proof | null> | undefined {
    return this.#underWay.get(this.#nameOf(authorization));
  }

  /** `null`: wrong. Users may have changed by then, so `holderOf` has the last word. @throws BusyError */
  check(authorization: string): Promise<Proof | null> {
    const name = this.#nameOf(authorization);
    const checked = this.#check(authorization, name).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, checked);
    return checked;
  }

  async #check(authorization: string, name: string): Promise<Proof | null> {
    const token = tokenOf(authorization);
    if (token !== null) return token;
    const [, value] = /^basic +(\S+)$/i.exec(authorization) ?? [];
    const proof = value === undefined ? null : await this.#basic(value);
    if (proof !== null) this.#remember(name, proof);
    return proof;
  }

  async #basic(value: string): Promise<Proof | null> {
    const text = Buffer.from(value, "base64").toString("utf8");
    const colon = text.indexOf(":");
    if (colon === -1 || !this.offersBasic) return null;
    await this.#turn();
    try {
      const user = this.#callers.user(text.slice(0, colon));
      const right = await verifyPassword(text.slice(colon + 1), user?.passwordHash ?? nobodysHash);
      return right && user !== undefined ? { user: user.name, passwordHash: user.passwordHash } : null;
    } finally {
      this.#checking -= 1;
      this.#queue.shift()?.();
    }
  }

  async #turn(): Promise<void> {
    if (this.#checking >= mostAtOnce) {
      if (this.#queue.length >= mostWaiting) throw new BusyError("too many sign-ins at once");
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    }
    this.#checking += 1;
  }

  /** Made anew when there are other users or tokens. */
  get #callers(): Callers {
    const users = current(this.#known.users);
    const tokens = current(this.#known.tokens);
    if (users !== this.#users || tokens !== this.#tokens) {
      this.#users = users;
      this.#tokens = tokens;
      this.#made = new Callers(users, tokens);
    }
    return this.#made;
  }

  #remember(name: string, proof: Proof): void {
    this.#right.delete(name);
    const [oldest] = this.#right.keys();
    if (this.#right.size >= mostKept && oldest !== undefined) this.#right.delete(oldest);
    this.#right.set(name, { proof, untilMs: this.#now() + keptMs });
  }

  #nameOf(authorization: string): string {
    return createHmac("sha256", this.#key).update(authorization).digest("base64");
  }
}

function tokenOf(authorization: string): Proof | null {
  const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
  return token === undefined ? null : { digest: sha256(token) };
}

/** The name that a header claims; empty where it says none. */
export function claimedNameOf(authorization: string): string {
  const [, value] = /^basic +(\S+)$/i.exec(authorization) ?? [];
  const text = value === undefined ? "" : Buffer.from(value, "base64").toString("utf8");
  return text.slice(0, Math.max(0, text.indexOf(":"))).slice(0, longestName);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
