import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { nobodysHash, verifyPassword } from "./passwords.js";
import type { Principal, Role } from "./roles.js";

/** A user who signs in by name and password. */
export interface BasicUser {
  /** Shown on the page and in the audit. */
  readonly name: string;
  /** What this user may do. */
  readonly role: Role;
  /** The hash that `hashPassword` makes. */
  readonly passwordHash: string;
}

/** A caller that signs in by a token. */
export interface BearerToken {
  /** Shown in the audit. */
  readonly name: string;
  /** What this token may do. */
  readonly role: Role;
  /** The secret itself. */
  readonly token: string;
}

/** A value, or a function that returns its present value. */
export type Live<T> = T | (() => T);

/** The present value. */
export function current<T extends object>(live: Live<T>): T {
  return typeof live === "function" ? live() : live;
}

/**
 * What a header has proved. The proof stays true. Whether it still lets its caller in is checked anew each time,
 * because users and tokens may change.
 */
export type Proof = { readonly user: string; readonly passwordHash: string } | { readonly digest: Buffer };

/** Too many passwords are being checked at this moment. */
export class BusyError extends Error {
  override readonly name: string = "BusyError";
}

/** How long after its last use a correct header is remembered. */
const keptMs = 300_000;
const longestName = 256;
const mostKept = 1_000;
/** Each check by scrypt takes memory and a thread of the pool. */
const mostAtOnce = 2;
const mostWaiting = 32;

/** The users and tokens at one moment. */
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

  /** The caller that a proof stands for now; `null` if its user, password or token is gone. */
  holderOf(proof: Proof): Principal | null {
    if ("digest" in proof) return this.#holderOfToken(proof.digest);
    const user = this.#users.get(proof.user);
    if (user === undefined || user.passwordHash !== proof.passwordHash) return null;
    return { name: user.name, role: user.role };
  }

  /** Compares all tokens, each in constant time, so that the time of the answer reveals nothing. */
  #holderOfToken(digest: Buffer): Principal | null {
    let found: Principal | null = null;
    for (const each of this.#tokens) if (timingSafeEqual(each.digest, digest)) found = each.principal;
    return found;
  }
}

/**
 * The dashboard's own check of an `authorization` header. Browsers send a password with every request, and scrypt is
 * slow on purpose. So a correct password is remembered until it was not used for 5 minutes, under a key of this
 * process. The memory holds which hash the password fits: it lets the caller in as long as the user has that hash, with
 * the role that the user has now.
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

  /** True if there are no users and no tokens: credentials that a client sends are then meant for another server. */
  get empty(): boolean {
    return this.#callers.empty;
  }

  get offersBasic(): boolean {
    return this.#callers.offersBasic;
  }

  /** The principal that a proof lets in now; `null` if its user, password or token is gone. */
  holderOf(proof: Proof): Principal | null {
    return this.#callers.holderOf(proof);
  }

  /**
   * The proof of a header that was right lately, or that has a token, without a check. `null`: the header is wrong, or
   * must be checked first.
   */
  known(authorization: string): Proof | null {
    const name = this.#nameOf(authorization);
    const known = this.#right.get(name);
    const proof = known !== undefined && known.untilMs > this.#now() ? known.proof : tokenOf(authorization);
    if (proof === null || this.holderOf(proof) === null) return null;
    if (proof === known?.proof) this.#remember(name, proof);
    return proof;
  }

  /** The check of the same header that is still running. */
  underWay(authorization: string): Promise<Proof | null> | undefined {
    return this.#underWay.get(this.#nameOf(authorization));
  }

  /** `null`: the header is wrong. Users may have changed meanwhile, so `holderOf` decides. @throws BusyError */
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
      // A waiter takes over the place. If the place were freed first, a new check could take it before the waiter runs.
      const next = this.#queue.shift();
      if (next === undefined) this.#checking -= 1;
      else next();
    }
  }

  async #turn(): Promise<void> {
    if (this.#checking < mostAtOnce) {
      this.#checking += 1;
      return;
    }
    if (this.#queue.length >= mostWaiting) throw new BusyError("too many sign-ins at once");
    await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  /** Made anew when users or tokens have changed. */
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

/** The name that a header claims; empty if it names none. */
export function claimedNameOf(authorization: string): string {
  const [, value] = /^basic +(\S+)$/i.exec(authorization) ?? [];
  const text = value === undefined ? "" : Buffer.from(value, "base64").toString("utf8");
  return text.slice(0, Math.max(0, text.indexOf(":"))).slice(0, longestName);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
