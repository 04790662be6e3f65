import type { HoldfastError } from "@holdfast/core";
import { type Acl, CreateFlags, errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import type { ZooKeeperSession } from "../../session/types.js";
import { isPassing, requestFailure } from "../session/failures.js";
import { missingChroot } from "./chroot.js";
import type { CreateSettings } from "./create-settings.js";

/**
 * One try to make parents as containers, top down, in front of a create. A parent may be there already, or be made by
 * another client meanwhile. No level at all means that the parent is the chroot, which only the operator makes.
 */
export class MissingParents {
  readonly levels: readonly string[];
  readonly #settings: CreateSettings;
  readonly #acls: ReadonlyMap<string, readonly Acl[]>;
  readonly #refusals = new Map<string, ZooKeeperError>();

  /** Calls the caller's ACL function for each level before anything is sent, and throws what that function throws. */
  constructor(settings: CreateSettings, levels: readonly string[]) {
    this.levels = levels;
    this.#settings = settings;
    this.#acls = new Map(levels.map((level) => [level, settings.aclOf(level)]));
  }

  /** Sends the creates of the parents. The caller sends the create of the node behind them, in the same write. */
  send(session: ZooKeeperSession): void {
    for (const [path, acl] of this.#acls) {
      const container = { path, data: new Uint8Array(0), acl, flags: CreateFlags.container };
      session.send("createContainer", container, (made) => {
        if (!made.ok && made.error instanceof ZooKeeperError) this.#refusals.set(path, made.error);
      });
    }
  }

  /**
   * Why the node has no parent, if asking again does not help; else `null`. Call it after the create of the node was
   * answered by NoNode.
   */
  refusal(session: ZooKeeperSession, lockName: string): HoldfastError | null {
    if (this.levels.length === 0) return missingChroot(this.#settings.paths.chroot, session, lockName);
    for (const level of this.levels) {
      const refusal = this.#refusals.get(level);
      if (refusal === undefined || refusal.code === errorCodes.NodeExists || isPassing(refusal)) continue;
      if (refusal.code !== errorCodes.NoNode) {
        return requestFailure(`making the parent ${level}`, refusal, session, lockName);
      }
      if (level !== this.levels[0]) continue;
      return missingChroot(this.#settings.paths.chroot, session, lockName, refusal);
    }
    return null;
  }
}
