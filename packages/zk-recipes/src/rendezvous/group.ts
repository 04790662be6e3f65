import { HoldfastError, InvalidArgumentError } from "@holdfast/core";
import { backendCall, checkSignal, observeLatest, show } from "@holdfast/core/internal";
import { InvalidPathError, joinPath, validatePath } from "@holdfast/zk-protocol";
import type { RetryingRequests } from "../recipes/requests/retrying-requests.js";
import type { GroupMember, GroupMembership } from "../values/api.js";
import { GroupEntry } from "./group-entry.js";
import { GroupWatch } from "./group-watch.js";

/** Curator's `GroupMember`: one ephemeral node for each member, `<group's path>/<id>`, and the list of the members. */
export class GroupView implements GroupMembership {
  readonly name: string;
  readonly #calls: RetryingRequests;
  readonly #data: Uint8Array;

  constructor(calls: RetryingRequests, name: string, data: Uint8Array) {
    this.name = name;
    this.#calls = calls;
    this.#data = data;
  }

  async join(id: string, data: Uint8Array = this.#data): Promise<AsyncDisposable> {
    checkId(id);
    if (!(data instanceof Uint8Array)) {
      throw new InvalidArgumentError(`join: data must be a Uint8Array; got ${show(data)}`);
    }
    const path = joinPath(this.#calls.pathOf(this.name), id);
    const entry = new GroupEntry(this.#calls, this.name, path, Uint8Array.from(data));
    await this.#run(() => entry.take());
    return entry;
  }

  async members(): Promise<readonly GroupMember[]> {
    return await this.#run(() => new GroupWatch(this.#calls, this.name).list());
  }

  observe(options: { signal?: AbortSignal } = {}): AsyncIterable<readonly GroupMember[]> {
    checkSignal("observe: signal", options.signal);
    const { engine } = this.#calls;
    if (engine.closed) throw engine.closedError(this.name);
    return observeLatest(engine, () => {
      const watch = new GroupWatch(this.#calls, this.name);
      return {
        name: this.name,
        signal: options.signal,
        subscribe: (changed) => watch.subscribe(changed),
        read: () => watch.read(),
        same: sameMembers,
      };
    });
  }

  #run<T>(work: () => Promise<T>): Promise<T> {
    return backendCall(this.#calls.engine, this.name, work);
  }
}

function sameMembers(seen: readonly GroupMember[], now: readonly GroupMember[]): boolean {
  if (seen.length !== now.length) return false;
  return seen.every((member, index) => {
    const other = now[index] as GroupMember;
    return member.id === other.id && Buffer.compare(member.data, other.data) === 0;
  });
}

function checkId(id: unknown): void {
  try {
    if (typeof id === "string" && id !== "" && !id.includes("/")) return validatePath(`/${id}`);
  } catch (error) {
    if (error instanceof HoldfastError || !(error instanceof InvalidPathError)) throw error;
    throw new InvalidArgumentError(`join: id ${show(id)}: ${error.message}`, { cause: error });
  }
  throw new InvalidArgumentError(`join: id must be one segment of a path; got ${show(id)}`);
}
