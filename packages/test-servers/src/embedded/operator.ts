import {
  type Acl,
  CreateFlags,
  decodeResponse,
  encodeRequest,
  type OpName,
  opCodes,
  openAcl,
  type RequestOf,
  type ResponseOf,
  type Stat,
  ZooKeeperError,
} from "@holdfast/zk-protocol";
import { superIdentity } from "./acl.js";
import { process } from "./processor.js";
import type { Client, State } from "./state.js";

/** How `Operator.create()` makes a node. */
export interface OperatorCreate {
  /** Default null. */
  readonly data?: Uint8Array | null;
  /** One of `CreateFlags`; default persistent. Ephemeral is refused: there is no session to own it. */
  readonly flags?: number;
  /** Default: open to the world. */
  readonly acl?: readonly Acl[];
}

/**
 * Requests from inside the server, without a connection or a session. They ignore all ACLs and are done when the call
 * returns. Use them for what an administrator does by hand, such as deleting the node of a holder.
 *
 * Each method throws `ZooKeeperError` with the code that a client would get.
 */
export class Operator {
  readonly #state: () => State;
  readonly #client: Client = {
    sessionId: 0n,
    identities: [superIdentity],
    view: undefined,
    losesWatch: true,
    deliver() {},
  };

  constructor(state: () => State) {
    this.#state = state;
  }

  /** Creates a node and returns its path, which differs from `path` if the node is sequential. */
  create(path: string, options: OperatorCreate = {}): string {
    const { data = null, flags = CreateFlags.persistent, acl = openAcl } = options;
    const op = flags === CreateFlags.container ? "createContainer" : "create";
    return this.#run(op, { path, data, flags, acl }, path).path;
  }

  /** Deletes a node. `version` -1 (default) accepts any version. */
  delete(path: string, version = -1): void {
    this.#run("delete", { path, version }, path);
  }

  /** Replaces the data of a node. `version` -1 (default) accepts any version. */
  setData(path: string, data: Uint8Array | null, version = -1): Stat {
    return this.#run("setData", { path, data, version }, path).stat;
  }

  /** Null if there is no such node. */
  exists(path: string): Stat | null {
    try {
      return this.#run("exists", { path, watch: false }, path).stat;
    } catch (error) {
      if (error instanceof ZooKeeperError && error.codeName === "NoNode") return null;
      throw error;
    }
  }

  /** The data of a node, which may be null. */
  getData(path: string): Uint8Array | null {
    return this.#run("getData", { path, watch: false }, path).data;
  }

  /** The names in no particular order, as a client gets them. */
  getChildren(path: string): string[] {
    return this.#run("getChildren", { path, watch: false }, path).children;
  }

  #run<K extends OpName>(op: K, request: RequestOf<K>, path: string): ResponseOf<K> {
    const state = this.#state();
    const { err, body } = process(state, this.#client, 0, opCodes[op], encodeRequest(op, request));
    if (err !== 0) throw new ZooKeeperError(err, { op, path });
    return decodeResponse(op, body ?? Buffer.alloc(0));
  }
}
