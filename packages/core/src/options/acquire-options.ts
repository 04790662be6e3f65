import type { AcquireOptions, LockViewOptions, WithLockOptions } from "../api/acquiring.js";
import type { Capabilities } from "../api/capabilities.js";
import { InvalidArgumentError, UnsupportedError } from "../api/errors.js";
import type { ReentrantAcquireOptions } from "../api/mutex.js";
import type { FenceBy, Millis, Owner } from "../api/values.js";
import {
  checkBoolean,
  checkChoice,
  checkKnownKeys,
  checkMillis,
  checkObject,
  checkSignal,
  checkString,
  show,
} from "./checks.js";
import { checkFenceBy } from "./provider-options.js";

/** All options of one acquire, with the defaults filled in. */
export interface ResolvedAcquireOptions {
  readonly waitMs: Millis;
  readonly signal: AbortSignal | undefined;
  readonly leaseMs: Millis;
  readonly renew: boolean;
  /** What keeps a hold alive. Only with `"ttl"` is there a lease that a caller may choose. */
  readonly lease: Capabilities["lease"];
  readonly revocable: boolean;
  readonly label: string | null;
  readonly onLoss: "reject" | "ignore";
  readonly owner: Owner | undefined;
  readonly holdAtLeastMs: Millis;
  readonly fresh: boolean;
  /** 0 for kinds of locks that are never kept. */
  readonly keepMs: Millis;
  readonly fenceBy: FenceBy;
}

type AnyAcquireOptions = LockViewOptions & Pick<WithLockOptions, "onLoss"> & ReentrantAcquireOptions;

const candidacyKeys: ReadonlySet<string> = new Set([
  "waitMs",
  "signal",
  "leaseMs",
  "renew",
  "revocable",
  "label",
]);
const viewKeys: ReadonlySet<string> = new Set([...candidacyKeys, "holdAtLeastMs", "fresh"]);
const keepableViewKeys: ReadonlySet<string> = new Set([...viewKeys, "keepMs", "fenceBy"]);
const scopeKeys: ReadonlySet<string> = new Set([...viewKeys, "onLoss"]);
const reentrantKeys: ReadonlySet<string> = new Set([...viewKeys, "owner"]);
const reentrantScopeKeys: ReadonlySet<string> = new Set([...scopeKeys, "owner"]);

/** The names of the options that each kind of call knows. */
export const acquireKeys: Readonly<
  Record<
    "candidacy" | "view" | "keepableView" | "scope" | "reentrant" | "reentrantScope",
    ReadonlySet<string>
  >
> = {
  candidacy: candidacyKeys,
  view: viewKeys,
  keepableView: keepableViewKeys,
  scope: scopeKeys,
  reentrant: reentrantKeys,
  reentrantScope: reentrantScopeKeys,
};

/**
 * The options of a call, with those of its view as defaults. Throws `InvalidArgumentError` for an option that is unknown, of
 * a wrong type or out of range, and `UnsupportedError` for a lease that the backend would not keep.
 */
export function resolveAcquireOptions(
  what: string,
  options: AnyAcquireOptions | undefined,
  defaults: ResolvedAcquireOptions,
  known: ReadonlySet<string>,
): ResolvedAcquireOptions {
  if (options === undefined) return defaults;
  checkObject(`${what}: options`, options);
  checkKnownKeys(what, options, known);
  checkMillis(`${what}: waitMs`, options.waitMs, { minimumMs: 0, infinite: true });
  checkSignal(`${what}: signal`, options.signal);
  checkMillis(`${what}: leaseMs`, options.leaseMs, { minimumMs: 1, infinite: false });
  checkBoolean(`${what}: renew`, options.renew);
  checkBoolean(`${what}: revocable`, options.revocable);
  checkString(`${what}: label`, options.label);
  checkChoice(`${what}: onLoss`, options.onLoss, ["reject", "ignore"]);
  checkOwner(what, options.owner);
  checkMillis(`${what}: holdAtLeastMs`, options.holdAtLeastMs, { minimumMs: 0, infinite: false });
  checkBoolean(`${what}: fresh`, options.fresh);
  checkMillis(`${what}: keepMs`, options.keepMs, { minimumMs: 0, infinite: false });
  checkFenceBy(`${what}: fenceBy`, options.fenceBy);
  checkLease(what, options, defaults.lease);
  if ((options.keepMs ?? 0) > 0 && defaults.keepMs === 0) {
    throw new InvalidArgumentError(
      `${what}: keepMs is an option of the provider first; it is 0 there, and a view can only change it`,
    );
  }
  const resolved: ResolvedAcquireOptions = {
    waitMs: options.waitMs ?? defaults.waitMs,
    signal: options.signal ?? defaults.signal,
    leaseMs: options.leaseMs ?? defaults.leaseMs,
    renew: options.renew ?? defaults.renew,
    lease: defaults.lease,
    revocable: options.revocable ?? defaults.revocable,
    label: options.label ?? defaults.label,
    onLoss: options.onLoss ?? defaults.onLoss,
    owner: options.owner ?? defaults.owner,
    holdAtLeastMs: options.holdAtLeastMs ?? defaults.holdAtLeastMs,
    fresh: options.fresh ?? defaults.fresh,
    keepMs: options.keepMs ?? defaults.keepMs,
    fenceBy: options.fenceBy ?? defaults.fenceBy,
  };
  const { holdAtLeastMs, leaseMs, renew } = resolved;
  if (!renew && holdAtLeastMs > leaseMs) {
    throw new InvalidArgumentError(
      `${what}: with renew: false the hold ends after leaseMs = ${leaseMs}, so holdAtLeastMs = ${holdAtLeastMs} is too long`,
    );
  }
  return resolved;
}

/** The options of a call that only tries: it asks once, unless the call itself says how long it waits. */
export function onceUnlessSaid(
  resolved: ResolvedAcquireOptions,
  given: AcquireOptions | undefined,
): ResolvedAcquireOptions {
  return { ...resolved, waitMs: given?.waitMs ?? 0 };
}

/** Refuses a lease option that the backend would ignore, because the caller would rely on a hold that ends by itself. */
function checkLease(what: string, { leaseMs, renew }: AcquireOptions, lease: Capabilities["lease"]): void {
  if (lease === "ttl" || (leaseMs === undefined && renew !== false)) return;
  const option = leaseMs === undefined ? "renew: false" : "leaseMs";
  const how =
    lease === "session"
      ? "its holds last as long as the session, whose length is the option sessionTimeoutMs of the provider"
      : "its holds last until they are released";
  throw new UnsupportedError(`${what}: this backend does not keep ${option}: ${how}`);
}

function checkOwner(what: string, value: unknown): void {
  if (value === undefined) return;
  const id = (value as Partial<Owner> | null)?.id;
  if (typeof id === "string" && id.length > 0) return;
  throw new InvalidArgumentError(
    `${what}: owner must be an object with a non-empty string id; got ${show(value)}`,
  );
}
