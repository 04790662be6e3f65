import { saysNoNode, type ZooKeeperSession } from "@holdfast/zk-recipes/internal";

/** The data of a node as text; `null` where there is none. Rejects as the session's requests do. */
export async function readText(session: ZooKeeperSession, path: string): Promise<string | null> {
  try {
    const { data } = await session.request("getData", { path, watch: false });
    return data === null || data.length === 0 ? null : Buffer.from(data).toString();
  } catch (error) {
    if (error instanceof Error && saysNoNode(error)) return null;
    throw error;
  }
}
