import type { ZooKeeperNode } from "@holdfast/test-servers";

/** What a server reports of one of its sessions. */
export interface ToldSession {
  readonly address: string;
  readonly timeoutMs: number;
  readonly ephemerals: readonly string[];
}

/** The sessions by their ids in hexadecimal. */
export type ToldSessions = ReadonlyMap<string, ToldSession>;

const hex = (id: string): string => `0x${BigInt(id).toString(16)}`;

/** Read from the AdminServer itself. */
export async function toldByAdmin({ host, adminPort }: ZooKeeperNode): Promise<ToldSessions> {
  const ask = async (command: string) => {
    const answer = await (await fetch(`http://${host}:${adminPort}/commands/${command}`)).text();
    // Session ids are too large for a number, so they are read as strings.
    return JSON.parse(answer.replaceAll(/: (\d{16,})/g, ': "$1"'));
  };
  const [{ connections }, dump] = [await ask("connections"), await ask("dump")];
  return new Map(
    connections.map((one: { session_id: string; remote_socket_address: string; session_timeout: number }) => [
      hex(one.session_id),
      {
        address: one.remote_socket_address,
        timeoutMs: one.session_timeout,
        ephemerals: dump.session_id_to_ephemeral_paths[one.session_id] ?? [],
      },
    ]),
  );
}

/** Read by the words `cons` and `dump`. */
export async function toldByWords(server: ZooKeeperNode): Promise<ToldSessions> {
  const [cons, dump] = [await server.fourLetter("cons"), await server.fourLetter("dump")];
  const ephemerals = new Map<string, string[]>();
  for (const [, id = "", paths = ""] of dump.matchAll(/^(0x[0-9a-f]+):\n((?:\t\/.*\n?)*)/gm))
    ephemerals.set(hex(id), paths.trim().split(/\s+/));
  return new Map(
    [...cons.matchAll(/^ \/(\S+)\[\d+\]\(.*sid=(0x[0-9a-f]+),.*,to=(\d+),/gm)].map(
      ([, address = "", id = "", timeoutMs]) => [
        hex(id),
        { address, timeoutMs: Number(timeoutMs), ephemerals: ephemerals.get(hex(id)) ?? [] },
      ],
    ),
  );
}
