import { ownArgs } from "../../scripts/mutex/acquire.js";
import type { StandAnswer } from "../../scripts/mutex/answers.js";
import type { HeartbeatEntry } from "../../scripts/mutex/heartbeat.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import { SameWords } from "../../scripts/script.js";
import type { GrantedLock } from "../grants/holds.js";
import type { LockKeys, QueuedScripts, Said, TakeRequest } from "../kinds/kind.js";
import { fieldRenewals } from "../kinds/kind.js";
import type { BatchContext, BatchKind } from "../requests/batches.js";
import { type BoundCall, boundCall, type Call } from "../requests/calls.js";

function asksAlike(one: TakeRequest, other: TakeRequest): boolean {
  return (
    one.leaseMs === other.leaseMs &&
    one.mayWait === other.mayWait &&
    one.asksKeeper === other.asksKeeper &&
    one.tellsBefore === other.tellsBefore
  );
}

/** A lock that has a queue of ours: the scripts of its kind, with its keys. */
export class QueuedLock implements GrantedLock {
  readonly name: string;
  readonly names: LockKeys;
  readonly key: string;
  readonly keys: readonly string[];
  readonly renewKeys: readonly string[];
  readonly renewal: BatchKind<RenewEntry, RenewAnswer> = fieldRenewals;
  readonly sharing = "none";
  readonly proof: { readonly keys: readonly string[]; readonly channel: string };
  /** The keys of `stay`; `null` for kinds without it. */
  readonly stayKeys: readonly string[] | null;
  readonly heartbeat: BatchKind<HeartbeatEntry, StandAnswer>;
  /** The last request, and the arguments that it shares with others like it. */
  #acquires: { readonly request: TakeRequest; readonly args: readonly (string | number)[] } | undefined;
  #releases: { readonly publish: string; readonly args: readonly (string | number)[] } | undefined;
  readonly scripts: QueuedScripts;
  readonly #context: BatchContext;

  /** `name`: as the caller gave it. */
  constructor(name: string, names: LockKeys, scripts: QueuedScripts, context: BatchContext) {
    this.name = name;
    this.names = names;
    this.key = names.key;
    this.keys = names.keys;
    this.renewKeys = names.renewKeys;
    this.proof = { keys: SameWords.from(names.keys.slice(0, 4)), channel: names.channel };
    this.stayKeys = scripts.stayKeys?.(names) ?? null;
    this.heartbeat = scripts.heartbeat(names);
    this.scripts = scripts;
    this.#context = context;
  }

  acquire(request: TakeRequest): BoundCall<StandAnswer> {
    const script = this.scripts.acquire;
    return { script, keys: this.keys, args: [...ownArgs(request), this.#sameArgs(request)] };
  }

  /** The arguments behind those of `ownArgs`. They stay the same as long as the requests for this lock are alike. */
  #sameArgs(request: TakeRequest): readonly (string | number)[] {
    const known = this.#acquires;
    if (known !== undefined && asksAlike(request, known.request)) return known.args;
    const { aliveMs, tokenTtlMs, fairLockWaitTimeoutMs: waitMs } = this.#context.settings;
    const { changes } = this.names;
    const given = this.scripts.acquire.args({ ...request, aliveMs, tokenTtlMs, waitMs, changes });
    const args = SameWords.from(given.slice(ownArgs(request).length));
    this.#acquires = { request, args };
    return args;
  }

  release(owner: string): BoundCall<Said> {
    const script = this.scripts.release;
    return { script, keys: this.keys, args: [owner, this.#releaseArgs()] };
  }

  /**
   * All arguments of a release behind the first one, the owner. They stay the same until the line changes how Java is reached.
   */
  #releaseArgs(): readonly (string | number)[] {
    const { publish } = this.#context;
    if (this.#releases?.publish !== publish) {
      const ended = this.scripts.endArgs(this.names, this.#context);
      const [, ...args] = this.scripts.release.args({ owner: "", ...ended });
      this.#releases = { publish, args: SameWords.from(args) };
    }
    return this.#releases.args;
  }

  /** The owner's last request, whatever became of earlier ones. */
  cancel(owner: string, leaseMs: number): Call<Said> {
    const { keys } = this;
    const { cancel } = this.scripts;
    if ("limit" in cancel) return { kind: cancel, keys, entry: { owner, channel: this.names.channel } };
    const ended = this.scripts.endArgs(this.names, this.#context);
    return boundCall(cancel, keys, { owner, leaseMs, ...ended });
  }

  /** The hash field of a hold. */
  fieldOf(owner: string): string {
    return this.scripts.fieldOf?.(owner) ?? owner;
  }
}
