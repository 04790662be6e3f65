import type { SessionState } from "@holdfast/core";
import type { Attempt, AttemptListener, GrantRequest, LockDriver } from "@holdfast/core/driver";
import { beforeEach, expect, it } from "vitest";
import type { KeepTerms } from "../src/grants/keep-terms.js";
import { KeepableAttempt } from "../src/grants/keepable-attempt.js";
import type { Keeping, LocalWaiter } from "../src/grants/keeping.js";
import { createScopeStore, currentScope, runInScopeStore } from "../src/scope-store.js";

let heard: string[];
/** What the listener does when it is notified of a requeue. */
let onRequeue: () => void;
let link: { state: SessionState };
/** What the driver does when it is asked for a lock. */
let asked: (listener: AttemptListener) => Attempt;

beforeEach(() => {
  heard = [];
  onRequeue = () => {};
  link = { state: "connected" };
  asked = () => {
    heard.push("asked");
    return { withdraw: async () => void heard.push("withdrawn at the backend") };
  };
});

/** An attempt that waits in memory behind a keeping; a `leave` of that keeping is recorded in `heard`. */
function standing(request: Partial<GrantRequest> = {}): { attempt: KeepableAttempt; waiter: LocalWaiter } {
  const attempt = attemptOf(request);
  let waiter: LocalWaiter = attempt;
  const keeping: Partial<Keeping> = {
    wait: (each) => {
      waiter = each;
    },
    leave: () => void heard.push("left"),
  };
  attempt.standFor(keeping as Keeping);
  return { attempt, waiter };
}

function attemptOf(request: Partial<GrantRequest> = {}): KeepableAttempt {
  const listener: Partial<AttemptListener> = {
    unavailable: () => void heard.push("unavailable"),
    failed: (error) => void heard.push(`failed ${(error as Error).message}`),
    requeued(reason) {
      heard.push(`requeued ${reason}`);
      onRequeue();
    },
    sessionEnded: ({ queued }) => void heard.push(`session ended, ${queued ? "queued" : "not queued"}`),
    waiting: () => void heard.push("waiting"),
  };
  const driver: Partial<LockDriver> = { attempt: (_requests, each) => asked(each) };
  const books = { driver: driver as LockDriver, link: link as never, granted: () => expect.unreachable() };
  const made = { mayWait: true, ...request } as GrantRequest;
  return new KeepableAttempt(books, {} as KeepTerms, made, listener as AttemptListener);
}

/** Waits until all microtasks have run, including those that they add. */
const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("refuses a request that may not wait behind the step in which another was lent the lock, and not after it was withdrawn", async () => {
  const { waiter } = standing({ mayWait: false });
  waiter.mustWait();
  expect(heard).toEqual(["left"]);
  await rest();
  expect(heard).toEqual(["left", "unavailable"]);
  heard = [];
  const other = standing({ mayWait: false });
  other.waiter.mustWait();
  await other.attempt.withdraw();
  await rest();
  expect(heard).toEqual(["left"]);
});

it("asks the backend of a keeping that is over only while there is contact: else the next session does, with no place lost", () => {
  link.state = "suspended";
  standing().waiter.askBackend(null);
  expect(heard).toEqual(["session ended, not queued"]);
  heard = [];
  link.state = "connected";
  standing().waiter.askBackend("session-expired");
  standing().waiter.askBackend("stolen");
  standing().waiter.askBackend(null);
  expect(heard).toEqual(["session ended, queued", "requeued entry-gone", "asked", "asked"]);
});

it("asks nothing once a listener of the requeue has called it off", async () => {
  const { attempt, waiter } = standing();
  onRequeue = () => void attempt.withdraw();
  waiter.askBackend("stolen");
  await rest();
  expect(heard).toEqual(["requeued entry-gone"]);
});

it("asks outside of all scopes: another owner's release may have led there", () => {
  createScopeStore();
  const scopes: unknown[] = [];
  asked = () => {
    scopes.push(currentScope());
    return { withdraw: async () => {} };
  };
  const { waiter } = standing();
  runInScopeStore({ whose: "another owner's" }, () => waiter.askBackend(null));
  expect(scopes).toEqual([undefined]);
});

it("fails with what the driver throws, behind the step that has ended the keeping, and not after it was withdrawn", async () => {
  asked = () => {
    throw new Error("no such ACL");
  };
  standing().waiter.askBackend(null);
  expect(heard).toEqual([]);
  await rest();
  expect(heard).toEqual(["failed no such ACL"]);
  heard = [];
  const { attempt, waiter } = standing();
  waiter.askBackend(null);
  await attempt.withdraw();
  await rest();
  expect(heard).toEqual([]);
});

it("withdraws at the backend also what was called off by code that the driver runs while it is asked", async () => {
  const attempt = attemptOf();
  let withdrawn: Promise<void> | undefined;
  asked = () => {
    withdrawn = attempt.withdraw();
    return { withdraw: async () => void heard.push("withdrawn at the backend") };
  };
  attempt.ask();
  await withdrawn;
  expect(heard).toEqual(["withdrawn at the backend"]);
});
