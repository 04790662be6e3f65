import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import type { ZooKeeperSession } from "@holdfast/zk-recipes/internal";

const perMulti = 400;

/** Makes a parent for each lock and `contenders` queue nodes in it, as Curator makes them. */
export async function makeLocks(
  session: ZooKeeperSession,
  root: string,
  count: number,
  contenders = 1,
): Promise<void> {
  const paths = Array.from({ length: count }, (_, at) => `${root}/order-${String(at).padStart(7, "0")}`);
  const pieces: string[][] = [];
  for (let at = 0; at < paths.length; at += perMulti) pieces.push(paths.slice(at, at + perMulti));
  const work = async (): Promise<void> => {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
      const parents = piece.map((path) => create(path, CreateFlags.persistent));
      const children = piece.flatMap((path, at) =>
        Array.from({ length: contenders }, () =>
          create(`${path}/${protectedName(at)}`, CreateFlags.ephemeralSequential),
        ),
      );
      await session.request("multi", { ops: [...parents, ...children] });
    }
  };
  await Promise.all([work(), work(), work()]);
}

let last = 0;

export function protectedName(salt: number): string {
  const hex = (last++).toString(16).padStart(12, "0");
  return `_c_00000000-0000-4000-8000-${hex}-lock-`.replace("8000", (0x8000 + (salt % 0x0fff)).toString(16));
}

function create(path: string, flags: number) {
  return { op: "create", request: { path, data: Buffer.from("127.0.0.1"), acl: openAcl, flags } } as const;
}
