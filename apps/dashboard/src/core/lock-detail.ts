import type { ActionOffer, LockAction, ObservedLockDetail, SessionContact } from "@holdfast/collectors";
import type { Role } from "../auth/roles.js";
import { mostOffered } from "../contract/actions.js";
import type { LockDetail } from "../contract/api.js";
import { within } from "./bounded.js";
import type { NamedCollector } from "./cluster-row.js";
import { Kept } from "./kept.js";
import type { Observatory } from "./observatory.js";
import { backendFailed, messageOf, notFound } from "./problems.js";
import { participantOf, rowOf } from "./rows.js";

const mostWaiters = 200;
const answerMs = 5_000;
const tryOutMs = 2_000;
const contactsMs = 2_000;
/** How long one reading is shared, and for how many locks. */
const sharedMs = 250;
const mostShared = 100;

/** The role that each action needs. */
export const roleOfAction: Readonly<Record<LockAction, "operator" | "admin">> = {
  "request-revoke": "operator",
  "evict-waiter": "admin",
  "force-release": "admin",
  "clean-orphan": "admin",
};

/**
 * Details of locks that many pages have open. Callers of one role share a reading for a moment, until the lock has
 * changed. So many readers cost the backend as much as one. None of them sees the lock as it was before the change that
 * made the page ask.
 */
export class SharedDetails {
  readonly #observatory: Observatory;
  readonly #mayAct: (role: Role, action: LockAction) => boolean;
  /** The readings by lock and role; the lock that was asked for last is last. */
  readonly #readings: Map<string, Map<Role, Kept<LockDetail>>> = new Map();

  /** Listens to the observatory until that is closed. */
  constructor(observatory: Observatory, mayAct: (role: Role, action: LockAction) => boolean) {
    this.#observatory = observatory;
    this.#mayAct = mayAct;
    observatory.onChange((change) => {
      if (change.type === "lock") this.forget(change.cluster, change.key);
    });
  }

  /** @throws ProblemError */
  async of(id: string, role: Role): Promise<LockDetail> {
    const { cluster, key } = this.#observatory.locate(id);
    const name = nameOf(cluster.name, key);
    const roles = this.#readings.get(name) ?? new Map<Role, Kept<LockDetail>>();
    this.#readings.delete(name);
    this.#readings.set(name, roles);
    const [oldest] = this.#readings.keys();
    if (this.#readings.size > mostShared && oldest !== undefined) this.#readings.delete(oldest);
    let reading = roles.get(role);
    if (reading === undefined) {
      const mayAct = (action: LockAction): boolean => this.#mayAct(role, action);
      reading = new Kept(() => detailOf(this.#observatory, id, mayAct), sharedMs, this.#observatory.now);
      roles.set(role, reading);
    }
    const detail = await reading.get();
    return { ...detail, nowMs: this.#observatory.now() };
  }

  /** The next caller reads the lock anew. */
  forget(cluster: string, key: string): void {
    this.#readings.delete(nameOf(cluster, key));
  }
}

function nameOf(cluster: string, key: string): string {
  return `${cluster}\0${key}`;
}

/**
 * One lock with its holders and waiters, read anew. If its backend does not answer, the lock comes from memory, and the
 * answer says so.
 */
async function detailOf(
  observatory: Observatory,
  id: string,
  mayAct: (action: LockAction) => boolean,
): Promise<LockDetail> {
  const { cluster, key } = observatory.locate(id);
  const read = await readLock(cluster, key);
  if (read === null) throw notFound("nothing is there any more");
  const { lock, fromMemory } = read;
  const [actions, contacts] = await Promise.all([
    actionsOn(cluster, lock, mayAct),
    contactsOf(cluster, lock),
  ]);
  return {
    nowMs: observatory.now(),
    lock: rowOf(cluster.name, lock),
    waiters: lock.waiters.map(participantOf),
    fromMemory,
    contacts: contacts.map(({ id, state, timeoutMs, endsMs }) => ({ id, state, timeoutMs, endsMs })),
    raw: lock.raw.map(({ name, value }) => ({ name, value })),
    explain: [...lock.explain],
    findings: observatory.findings.ofLock(id),
    actions,
  };
}

interface ReadLock {
  readonly lock: ObservedLockDetail;
  readonly fromMemory: boolean;
}

async function readLock({ name, collector }: NamedCollector, key: string): Promise<ReadLock | null> {
  try {
    const lock = await within(collector.detail(key, { maxWaiters: mostWaiters }), answerMs);
    return lock === null ? null : { lock, fromMemory: false };
  } catch (error) {
    const known = collector.get(key);
    if (known === undefined) throw backendFailed(name, error);
    const explain = [
      `From memory: it could not be read anew (${messageOf(error)}). The waiters are not known.`,
    ];
    return { lock: { ...known, waiters: [], raw: [], explain }, fromMemory: true };
  }
}

/** Empty if the servers do not answer in time: the page shows the holder all the same, and asks again. */
async function contactsOf(
  { collector }: NamedCollector,
  { holders }: ObservedLockDetail,
): Promise<readonly SessionContact[]> {
  const ids = new Set(holders.flatMap(({ session }) => (session === null ? [] : [session])));
  return await within(collector.contacts([...ids]), contactsMs).catch(() => []);
}

async function actionsOn(
  { collector }: NamedCollector,
  lock: ObservedLockDetail,
  mayAct: (action: LockAction) => boolean,
): Promise<LockDetail["actions"]> {
  const offers = offersOf(lock).filter(({ action }) => mayAct(action));
  if (offers.length === 0) return [];
  const tried = collector.tryOut(lock, offers, AbortSignal.timeout(tryOutMs));
  // An action that cannot even be tried out is not offered. The detail itself says what is wrong with the backend.
  const trials = await within(tried, tryOutMs).catch(() => []);
  return offers.flatMap(({ action, entry }, at) => {
    const trial = trials[at];
    if (trial?.outcome !== "would-do") return [];
    return [
      {
        action,
        entry,
        role: roleOfAction[action],
        effects: [...trial.effects],
        unknownLibrary: trial.unknownLibrary === true,
      },
    ];
  });
}

function offersOf(lock: ObservedLockDetail): ActionOffer[] {
  const holders = lock.holders.slice(0, mostOffered).map(({ entry }) => entry);
  const waiters = lock.waiters.slice(0, mostOffered).map(({ entry }) => entry);
  return [
    ...holders.map((entry) => ({ action: "request-revoke" as const, entry })),
    ...waiters.map((entry) => ({ action: "evict-waiter" as const, entry })),
    ...holders.map((entry) => ({ action: "force-release" as const, entry })),
    ...(holders.length === 0 ? [{ action: "clean-orphan" as const, entry: null }] : []),
  ];
}
