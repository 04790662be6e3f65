import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { nobodysHash, verifyPassword } from "./passwords.js";
import type { Principal, Role } from "./roles.js";

export interface BasicUser {
  readonly name: string;
  readonly role: Role;
  /** As `hashPassword` makes it. */
  readonly passwordHash: string;
}

export interface BearerToken {
  /** Shown in the audit. */
  readonly name: string;
  readonly role: Role;
  readonly token: string;
}

/** Too many passwords are being checked at this moment. */
export class BusyError extends Error {
  override readonly name: string = "BusyError";
}

const keptMs = 300_000;
const mostKept = 1_000;
/** scrypt takes memory and a thread of the pool each. */
const mostAtOnce = 2;
const mostWaiting = 32;

/**
 * The box's own check of an `authorization` header. A header that was right is remembered for 5 minutes under a key of this process, as
 * browsers send it with every request and scrypt is slow on purpose.
 */
export class Credentials {
  readonly #users: ReadonlyMap<string, BasicUser>;
  readonly #tokens: readonly { readonly digest: Buffer; readonly principal: Principal }[];
  readonly #now: () => number;
  readonly #key: Buffer = randomBytes(32);
  readonly #right: Map<string, { readonly principal: Principal; readonly untilMs: number }> = new Map();
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

  /** Whose header this was lately, if it was right then. */
  remembered(authorization: string): Principal | null {
    const known = this.#right.get(this.#nameOf(authorization));
    return known !== undefined && known.untilMs > this.#now() ? known.principal : null;
  }

  /** `null`: wrong. @throws BusyError */
  async check(authorization: string): Promise<Principal | null> {
    const [, scheme, value] = /^(\w+) +(\S+)$/.exec(authorization) ?? [];
    if (scheme === undefined || value === undefined) return null;
    const principal =
      scheme.toLowerCase() === "bearer"
        ? this.#bearer(value)
        : scheme.toLowerCase() === "basic"
          ? await this.#basic(value)
          : null;
    if (principal !== null) this.#remember(authorization, principal);
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

  #remember(authorization: string, principal: Principal): void {
    const [oldest] = this.#right.keys();
    if (this.#right.size >= mostKept && oldest !== undefined) this.#right.delete(oldest);
    this.#right.set(this.#nameOf(authorization), { principal, untilMs: this.#now() + keptMs });
  }

  #nameOf(authorization: string): string {
    return createHmac("sha256", this.#key).update(authorization).digest("base64");
  }
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
