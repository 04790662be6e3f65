import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { BusyError, type Credentials, claimedNameOf, type Proof } from "../auth/credentials.js";
import type { CsrfTokens } from "../auth/csrf.js";
import type { FailedLogins } from "../auth/failed-logins.js";
import { isCrossSite, isLoopbackName, isOwnOrigin, proxySignOf } from "../auth/origin.js";
import { atLeast, type Principal, type Role } from "../auth/roles.js";
import { ProblemError } from "../core/problems.js";

/** The role that a route needs. `public`: no credentials. */
export type Access = Role | "public";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Every route of the dashboard declares it. A route that does not stops the start. */
    access?: Access;
    /** Refuses requests that pages of other sites send, even those that only read. */
    api?: boolean;
  }
  interface FastifyRequest {
    holdfastPrincipal: Principal | null;
    holdfastAdmission: Admission | null;
  }
}

/**
 * The caller that was let in, and a way to check the caller again later. `null` from `again` means that the caller is
 * not let in any more.
 */
export type Admission =
  | {
      readonly principal: Principal;
      /** Let in by users and tokens, or without credentials: checking again costs nothing. */
      readonly by: "own";
      again(): Principal | null;
    }
  | {
      readonly principal: Principal;
      /** Let in by `authenticate`, which may ask other servers. */
      readonly by: "hook";
      again(): Principal | null | Promise<Principal | null>;
    };

/** Names the caller of a request; `null` leaves that to the other ways of signing in. */
export type Authenticate = (request: FastifyRequest) => Principal | null | Promise<Principal | null>;

export interface AccessParts {
  readonly authenticate: Authenticate | undefined;
  readonly credentials: Credentials;
  /** The caller of a request without credentials; `null` if such a request is refused. */
  readonly anonymous: Principal | null;
  /**
   * `true` if no credentials are asked for. Then only requests for a loopback name are answered, because a page
   * elsewhere can point its own name here, but cannot use a loopback name.
   */
  readonly loopbackNames: boolean;
  /** Called for a sign-in with wrong credentials, and for a refused request that would have changed something. */
  readonly onRefused: (refused: Refused) => void;
  readonly failedLogins: FailedLogins;
  readonly csrf: CsrfTokens;
}

export interface Refused {
  readonly request: FastifyRequest;
  /** The caller if it was known, else `null`. */
  readonly principal: Principal | null;
  /** The name given with wrong credentials; `null` if no sign-in was tried. */
  readonly claimedName: string | null;
  readonly problem: ProblemError;
}

/** Guards every route of this scope, including those that are added later. */
export function guardAccess(scope: FastifyInstance, parts: AccessParts): void {
  scope.decorateRequest("holdfastPrincipal", null);
  scope.decorateRequest("holdfastAdmission", null);
  scope.addHook("onRoute", ({ method, url, config }) => {
    if (config?.access === undefined)
      throw new Error(`${String(method)} ${url}: no access is declared, so no request may pass`);
  });
  scope.addHook("onRequest", async (request, reply) => {
    const { access, api } = request.routeOptions.config;
    const changes = request.method !== "GET" && request.method !== "HEAD";
    const refuse = (principal: Principal | null, error: string, message: string): ProblemError => {
      const problem = new ProblemError(403, error, message);
      if (changes) parts.onRefused({ request, principal, claimedName: null, problem });
      return problem;
    };
    const passedOn = parts.loopbackNames ? proxySignOf(request.headers, request.raw.httpVersion) : undefined;
    if (passedOn !== undefined)
      throw refuse(
        null,
        "forwarded",
        `without authentication this is for localhost alone, and ${passedOn} says that a proxy has passed the request on: configure auth (basic or bearer, or anonymous: viewer to let everybody look), and then trustProxy`,
      );
    // Uses the header as it came, because any client can send the headers in which a proxy gives the name.
    if (parts.loopbackNames && !isLoopbackName(request.headers.host ?? headerOf(request, ":authority") ?? ""))
      throw refuse(null, "wrong-host", "without authentication this is for localhost alone");
    if (access === "public") return;
    const from = {
      host: request.host,
      origin: request.headers.origin,
      fetchSite: headerOf(request, "sec-fetch-site"),
    };
    if (api === true && isCrossSite(from)) throw refuse(null, "cross-site", "not for pages of other sites");
    const admission = await identify(request, reply, parts);
    const { principal } = admission;
    if (access === undefined || !atLeast(principal.role, access))
      throw refuse(principal, "forbidden", `this takes the role ${access ?? "of nobody"}`);
    if (changes) {
      if (!isOwnOrigin(from)) throw refuse(principal, "cross-site", "not for pages of other sites");
      if (!parts.csrf.isRight(headerOf(request, "x-csrf-token"), principal))
        throw refuse(principal, "csrf", "x-csrf-token must be the csrfToken of GET me");
    }
    request.holdfastPrincipal = principal;
    request.holdfastAdmission = admission;
  });
}

/** The caller of a request that has passed the guard. */
export function principalOf(request: FastifyRequest): Principal {
  return admissionOf(request).principal;
}

/** The admission of a request that has passed the guard. */
export function admissionOf(request: FastifyRequest): Admission {
  const admission = request.holdfastAdmission;
  if (admission === null) throw new ProblemError(401, "unauthenticated", "who are you?");
  return admission;
}

async function identify(
  request: FastifyRequest,
  reply: FastifyReply,
  { authenticate, credentials, anonymous, failedLogins, onRefused }: AccessParts,
): Promise<Admission> {
  const told = await authenticate?.(request);
  if (authenticate !== undefined && told !== undefined && told !== null)
    return { principal: told, by: "hook", again: () => authenticate(request) };
  const { authorization } = request.headers;
  if (authorization === undefined || authorization === "" || credentials.empty) {
    if (anonymous !== null) return { principal: anonymous, by: "own", again: () => anonymous };
    throw unauthenticated(reply, credentials, "credentials are needed");
  }
  const admitted = (proof: Proof | null): Admission | null => {
    const again = (): Principal | null => (proof === null ? null : credentials.holderOf(proof));
    const principal = again();
    return principal === null ? null : { principal, by: "own", again };
  };
  const known = admitted(credentials.known(authorization));
  if (known !== null) return known;
  // Without passwords a name means nothing. A new name in each request would make each request another caller.
  const claimedName = credentials.offersBasic ? claimedNameOf(authorization) : "";
  const caller = JSON.stringify([claimedName, request.ip]);
  let check = credentials.underWay(authorization);
  // A request that shares the check of another one has counted no attempt.
  const counts = check === undefined;
  if (check === undefined) {
    const blockedMs = failedLogins.blockedMs(caller);
    if (blockedMs > 0) {
      reply.header("retry-after", Math.ceil(blockedMs / 1_000));
      throw new ProblemError(429, "too-many-failures", "too many wrong credentials; wait a minute");
    }
    // The attempt counts before it is known to be wrong. Otherwise all attempts of a burst would be checked.
    failedLogins.add(caller);
    check = credentials.check(authorization);
  }
  let admission: Admission | null;
  try {
    admission = admitted(await check);
  } catch (error) {
    if (!(error instanceof BusyError)) throw error;
    if (counts) failedLogins.takeBack(caller);
    throw new ProblemError(503, "busy", error.message);
  }
  if (admission !== null) {
    failedLogins.forget(caller);
    return admission;
  }
  const problem = unauthenticated(reply, credentials, "these credentials are not right");
  onRefused({ request, principal: null, claimedName, problem });
  throw problem;
}

function unauthenticated(reply: FastifyReply, credentials: Credentials, message: string): ProblemError {
  reply.header(
    "www-authenticate",
    credentials.offersBasic ? 'Basic realm="holdfast", charset="UTF-8"' : 'Bearer realm="holdfast"',
  );
  return new ProblemError(401, "unauthenticated", message);
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
