import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { nobodysHash, verifyPassword } from "./passwords.js";
import type { Principal, Role } from "./roles.js";

/** One who comes in by name and password. */
export interface BasicUser {
  /** Shown on the page and in the audit. */
  readonly name: string;
  /** What this user may do. */
  readonly role: Role;
  /** As `hashPassword` makes it. */
  readonly passwordHash: string;
}

/** One who comes in by a token. */
export interface BearerToken {
  /** Shown in the audit. */
  readonly name: string;
  /** What this token may do. */
  readonly role: Role;
  /** The secret itself. */
  readonly token: string;
}

/** Too many passwords are being checked at this moment. */
export class BusyError extends Error {
  override readonly name: string = "BusyError";
}

/** Since it was used last. */
const keptMs = 300_000;
const longestName = 256;
const mostKept = 1_000;
/** scrypt takes memory and a thread of the pool each. */
const mostAtOnce = 2;
const mostWaiting = 32;

/**
 * The box's own check of an `authorization` header. A header that was right is remembered until it was not used for 5 minutes, under a key of this process, as
 * browsers send it with every request and scrypt is slow on purpose.
 */
export class Credentials {
  readonly #users: ReadonlyMap<string, BasicUser>;
  readonly #tokens: readonly { readonly digest: Buffer; readonly principal: Principal }[];
  readonly #now: () => number;
  readonly #key: Buffer = randomBytes(32);
  readonly #right: Map<string, { readonly principal: Principal; readonly untilMs: number }> = new Map();
  readonly #underWay: Map<string, Promise<Principal | null>> = new Map();
  readonly #queue: (() => void)[] = [];
  #checking = 0;

  constructor(
    known: { readonly users: readonly BasicUser[]; readonly tokens: readonly BearerToken[] },
    now: () => number,
  ) {
    this.#users = new Map(known.users.map((user) => [user.name, user]));
    this.#tokens = known.tokens.map(({ name, role, token }) => ({
      digest: sha256(token),
      principal: { name, role },
    }));
    this.#now = now;
  }

  /** Nobody can be known by these: what somebody sends is meant for another. */
  get empty(): boolean {
    return this.#users.size + this.#tokens.length === 0;
  }

  get offersBasic(): boolean {
    return this.#users.size > 0;
  }

  /** Whose header this was lately, if it was right then, or whose token it is: to find that out costs nothing. */
  known(authorization: string): Principal | null {
    const name = this.#nameOf(authorization);
    const known = this.#right.get(name);
    if (known !== undefined && known.untilMs > this.#now()) {
      this.#remember(name, known.principal);
      return known.principal;
    }
    const [, token] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
    return token === undefined ? null : this.#bearer(token);
  }

  /** The check of the same header that has not ended. */
  underWay(authorization: string): Promise<Principal | null> | undefined {
    return this.#underWay.get(this.#nameOf(authorization));
  }

  /** `null`: wrong. @throws BusyError */
  check(authorization: string): Promise<Principal | null> {
    const name = this.#nameOf(authorization);
    const checked = this.#check(authorization, name).finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, checked);
    return checked;
  }

  async #check(authorization: string, name: string): Promise<Principal | null> {
    const [, scheme, value] = /^(\w+) +(\S+)$/.exec(authorization) ?? [];
    if (scheme === undefined || value === undefined) return null;
    const principal =
      scheme.toLowerCase() === "bearer"
        ? this.#bearer(value)
        : scheme.toLowerCase() === "basic"
          ? await this.#basic(value)
          : null;
    if (principal !== null) this.#remember(name, principal);
    return principal;
  }

  /** All are compared, each in constant time: how long it takes says nothing. */
  #bearer(token: string): Principal | null {
    const digest = sha256(token);
    let found: Principal | null = null;
    for (const each of this.#tokens) if (timingSafeEqual(each.digest, digest)) found = each.principal;
    return found;
  }

  async #basic(value: string): Promise<Principal | null> {
    const text = Buffer.from(value, "base64").toString("utf8");
    const colon = text.indexOf(":");
    if (colon === -1 || !this.offersBasic) return null;
    const user = this.#users.get(text.slice(0, colon));
    await this.#turn();
    try {
      const right = await verifyPassword(text.slice(colon + 1), user?.passwordHash ?? nobodysHash);
      return right && user !== undefined ? { name: user.name, role: user.role } : null;
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

  #remember(name: string, principal: Principal): void {
    this.#right.delete(name);
    const [oldest] = this.#right.keys();
    if (this.#right.size >= mostKept && oldest !== undefined) this.#right.delete(oldest);
    this.#right.set(name, { principal, untilMs: this.#now() + keptMs });
  }

  #nameOf(authorization: string): string {
    return createHmac("sha256", this.#key).update(authorization).digest("base64");
  }
}

/** Who a header says that it comes from; empty where it says no name. */
export function claimedNameOf(authorization: string): string {
  const [, value] = /^basic +(\S+)$/i.exec(authorization) ?? [];
  const text = value === undefined ? "" : Buffer.from(value, "base64").toString("utf8");
  return text.slice(0, Math.max(0, text.indexOf(":"))).slice(0, longestName);
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
