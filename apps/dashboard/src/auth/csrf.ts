import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Principal } from "./roles.js";

/** A token that only our own page can read (from GET me). It is bound to the caller and to this process. */
export class CsrfTokens {
  readonly #key: Buffer = randomBytes(32);

  of(principal: Principal): string {
    return createHmac("sha256", this.#key)
      .update(principal.name === null ? "anybody" : `name ${principal.name}`)
      .digest("base64url");
  }

  isRight(token: unknown, principal: Principal): boolean {
    if (typeof token !== "string") return false;
    const given = Buffer.from(token);
    const wanted = Buffer.from(this.of(principal));
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}
