import type {
  Capabilities,
  LockProvider,
  LossReason,
  Millis,
  PrimitiveKind,
  ProviderOptions,
  SessionState,
} from "@holdfast/core";
import type {
  Attempt,
  AttemptListener,
  Grant,
  GrantRequest,
  GrantState,
  LockDriver,
} from "@holdfast/core/driver";
import { DriverProvider, EventHub, resolveProviderOptions } from "@holdfast/core/internal";
import type { SimulatedRuntime } from "@holdfast/core/testing";

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/** What happens to a hold without its holder's doing, as data. */
export type GrantChange =
  | { readonly type: "uncertain" | "recovered" | "revoke-requested" }
  | { readonly type: "lost"; readonly reason: LossReason };

export function report(state: GrantState | undefined, change: GrantChange): void {
  if (change.type === "lost") state?.lost(change.reason);
  else if (change.type === "revoke-requested") state?.revokeRequested();
  else state?.[change.type]();
}

/** A grant whose every answer and change comes from the test. */
export class ScriptedGrant implements Grant {
  token: bigint | null = 1n;
  backendId = "scripted";
  permitIds: readonly string[] = [];
  roundTrips = 1;
  contended = false;
  untilMs: Millis;
  /** A change that is reported as soon as core has the grant. */
  untold: GrantChange | undefined;
  #state: GrantState | undefined;
  attended = 0;
  readonly renewals: { leaseMs: Millis; due: boolean; answer: Deferred<Millis | null> }[] = [];
  readonly releases: Deferred<boolean>[] = [];
  releaseAnswer: boolean | undefined = true;

  constructor(untilMs: Millis) {
    this.untilMs = untilMs;
  }

  validUntilMs(): Millis {
    return this.untilMs;
  }

  entered(state: GrantState): void {
    this.#state = state;
    if (this.untold !== undefined) this.listener(this.untold);
  }

  listener(change: GrantChange): void {
    report(this.#state, change);
  }

  attend(): void {
    this.attended++;
  }

  prove(leaseMs: Millis, { due } = { due: false }): Promise<Millis | null> {
    const answer = deferred<Millis | null>();
    this.renewals.push({ leaseMs, due, answer });
    return answer.promise;
  }

  /** Answers the newest renewal as a driver does: the deadline moves before core gets the answer. */
  renewed(untilMs: Millis): void {
    this.untilMs = untilMs;
    this.renewals.at(-1)?.answer.resolve(untilMs);
  }

  release(): Promise<boolean> {
    const answer = deferred<boolean>();
    this.releases.push(answer);
    if (this.releaseAnswer !== undefined) answer.resolve(this.releaseAnswer);
    return answer.promise;
  }
}

export interface ScriptedRequest {
  readonly request: GrantRequest;
  readonly progress: AttemptListener;
  readonly granted: Deferred<Grant | null>;
  readonly cancelled: Deferred<void>;
  cancels: number;
}

export interface ScriptedDowngrade {
  readonly write: Grant;
  readonly read: Pick<GrantRequest, "leaseMs" | "label" | "revocable">;
  readonly answer: Deferred<Grant>;
}

export interface Scripted {
  readonly provider: LockProvider;
  readonly requests: ScriptedRequest[];
  readonly downgrades: ScriptedDowngrade[];
  readonly contacts: Deferred<void>[];
  last(): ScriptedRequest;
  setState(state: SessionState): void;
}

const grantKinds: readonly PrimitiveKind[] = [
  "mutex",
  "reentrant-mutex",
  "read-write-lock",
  "reentrant-read-write-lock",
  "semaphore",
  "leader-election",
];

function promised(
  answer: Promise<Grant | null>,
  listener: AttemptListener,
  withdraw: () => Promise<void>,
): Attempt {
  let withdrawn = false;
  answer.then(
    (grant) => {
      if (withdrawn) return;
      if (grant === null) return listener.unavailable();
      const [state] = listener.granted([grant]);
      if (grant instanceof ScriptedGrant) grant.entered(state);
    },
    (error) => withdrawn || listener.failed(error),
  );
  return {
    withdraw() {
      withdrawn = true;
      return withdraw();
    },
  };
}

/**
 * A provider whose backend does what the test says, and when the test says it. Cancels are answered at once unless
 * `cancelsAnswered` is `false`.
 */
export function scripted(
  runtime: SimulatedRuntime,
  lease: Capabilities["lease"],
  settings: ProviderOptions & {
    cancelsAnswered?: boolean;
    leaseMs?: Millis;
    primitives?: readonly PrimitiveKind[];
    driver?: Partial<LockDriver>;
  } = {},
): Scripted {
  const {
    cancelsAnswered = true,
    leaseMs = 30_000,
    primitives = grantKinds,
    driver: more,
    ...options
  } = settings;
  const requests: ScriptedRequest[] = [];
  const downgrades: ScriptedDowngrade[] = [];
  const contacts: Deferred<void>[] = [];
  const events = new EventHub({ provider: "scripted", backend: "memory", runtime });
  const link = {
    state: "connected" as SessionState,
    whenConnected() {
      const contact = deferred<void>();
      contacts.push(contact);
      return contact.promise;
    },
  };
  const driver: LockDriver = {
    capabilities: {
      backend: "memory",
      lease,
      fencing: "durable",
      fairness: "fifo",
      push: true,
      primitives: new Set(primitives),
    },
    attempt([request], progress) {
      const made: ScriptedRequest = {
        request,
        progress,
        granted: deferred(),
        cancelled: deferred(),
        cancels: 0,
      };
      requests.push(made);
      return promised(made.granted.promise, progress, () => {
        made.cancels++;
        if (cancelsAnswered) made.cancelled.resolve();
        return made.cancelled.promise;
      });
    },
    attemptBeside(write, read, listener) {
      const answer = deferred<Grant>();
      downgrades.push({ write, read, answer });
      return promised(answer.promise, listener, async () => {
        await answer.promise.then(
          (grant) => grant.release(),
          () => {},
        );
      });
    },
    inspect: () => Promise.reject(new Error("not scripted")),
    close: async () => {},
    ...more,
  };
  const resolved = resolveProviderOptions("scripted", { ...options, runtime }, [], {
    keeps: driver.keeps === true,
  });
  const provider = new DriverProvider({ driver, link, events, options: resolved, defaultLeaseMs: leaseMs });
  return {
    provider,
    requests,
    downgrades,
    contacts,
    last() {
      const request = requests.at(-1);
      if (request === undefined) throw new Error("nothing was requested");
      return request;
    },
    setState(state) {
      link.state = state;
      events.emit("session-state", { state, timeoutMs: 0, cluster: "scripted" });
    },
  };
}
