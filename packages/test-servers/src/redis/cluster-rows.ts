/** A row of CLUSTER NODES. */
export interface ClusterRow {
  id: string;
  port: number;
  flags: readonly string[];
  masterId: string;
  linked: boolean;
  /** The first and last slot of each range. */
  ranges: readonly (readonly [number, number])[];
}

/** `id host:port@bus flags master ping pong epoch link slots...` */
export function parseRow(line: string): ClusterRow {
  const [id = "", address = "", flags = "", masterId = "", , , , link = "", ...slots] = line.split(" ");
  return {
    id,
    port: Number(/:(\d+)@/.exec(address)?.[1]),
    flags: flags.split(","),
    masterId,
    linked: link === "connected",
    // A slot that is being moved has a second entry, in brackets.
    ranges: slots
      .filter((range) => !range.startsWith("["))
      .map((range) => {
        const [first, last = first] = range.split("-").map(Number);
        return [first ?? -1, last ?? -1] as const;
      }),
  };
}

/**
 * The slots of each server and the master that it follows, as text. Equal views give equal texts. Servers that are down
 * are left out.
 */
export function shapeOf(rows: readonly ClusterRow[]): string {
  return rows
    .filter(({ flags }) => !flags.some((flag) => flag.startsWith("fail")))
    .map(({ id, masterId, ranges }) => `${id} ${masterId} ${ranges.map((range) => range.join("-"))}`)
    .sort()
    .join("\n");
}
