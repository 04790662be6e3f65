import { systemRuntime } from "@holdfast/core";
import { type Acl, baseName, errorCodes, openAcl, type Stat, ZooKeeperError } from "@holdfast/zk-protocol";
import { openSession, parseConnectString, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";
import { onTestFinished } from "vitest";

export interface NodeView {
  readonly data: string;
  readonly stat: Stat;
}

/** Reads and changes nodes directly at the server, without our layout. Paths are absolute at the server. */
export class Operator {
  readonly session: ZooKeeperSession;

  constructor(session: ZooKeeperSession) {
    this.session = session;
  }

  /** The session is closed when the test ends. `user` is `name:password` of the scheme digest. */
  static async connect(connect: string, user?: string): Promise<Operator> {
    const session = openSession({
      servers: parseConnectString(connect).servers,
      sessionTimeoutMs: 10_000,
      runtime: systemRuntime,
      ...(user === undefined ? {} : { auth: [{ scheme: "digest", auth: user }] }),
    });
    onTestFinished(() => session.close());
    await session.whenConnected();
    return new Operator(session);
  }

  /** The names of the children; none if the path does not exist. */
  async children(path: string): Promise<string[]> {
    const listing = await unlessAbsent(this.session.request("getChildren2", { path, watch: false }));
    return listing?.children ?? [];
  }

  /** The path of the only child. Throws if there is not exactly one. */
  async onlyChild(path: string): Promise<string> {
    const children = await this.children(path);
    if (children.length !== 1) throw new Error(`${path} has ${children.length} children`);
    return `${path}/${children[0]}`;
  }

  async exists(path: string): Promise<boolean> {
    return (await unlessAbsent(this.session.request("exists", { path, watch: false }))) !== null;
  }

  async read(path: string): Promise<NodeView> {
    const { data, stat } = await this.session.request("getData", { path, watch: false });
    return { data: Buffer.from(data ?? []).toString(), stat };
  }

  async acl(path: string): Promise<string[]> {
    const { acl } = await this.session.request("getACL", { path });
    return (acl ?? []).map(({ perms, scheme, id }) => `${scheme}:${id}:${perms}`);
  }

  /** Returns the path that the server gave: a sequential node's has a number at its end. */
  async create(
    path: string,
    options: { flags?: number; acl?: readonly Acl[]; data?: string } = {},
  ): Promise<string> {
    const { flags = 0, acl = openAcl, data = "" } = options;
    const made = await this.session.request("create2", { path, flags, acl, data: Buffer.from(data) });
    return made.path;
  }

  async delete(path: string): Promise<void> {
    await this.session.request("delete", { path, version: -1 });
  }

  async write(path: string, data: string): Promise<void> {
    await this.session.request("setData", { path, data: Buffer.from(data), version: -1 });
  }
}

/** The part of a queue node's name behind its UUID. */
export function withoutGuid(path: string): string {
  return baseName(path).replace(/^_c_[0-9a-f-]{36}-/, "");
}

async function unlessAbsent<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ZooKeeperError && error.code === errorCodes.NoNode) return null;
    throw error;
  }
}
