import { RedisProcess } from "./redis-process.js";

/** One real Sentinel: a child process on 127.0.0.1 that dies with this process, whatever kills it. */
export class RedisSentinel extends RedisProcess {
  readonly #periods: Readonly<Record<string, number>>;

  constructor(
    place: ConstructorParameters<typeof RedisProcess>[0],
    periods: Readonly<Record<string, number>>,
  ) {
    super(place);
    this.#periods = periods;
  }

  /** Waits until it answers, and sets its periods, because they do not survive a start. */
  override async ready(withinMs?: number): Promise<void> {
    await super.ready(withinMs);
    const periods = Object.entries(this.#periods).flat();
    if (periods.length > 0) await this.command("SENTINEL", "DEBUG", ...periods);
  }

  /** Kills it if it runs and starts it again on the same port, with what it knew. */
  async restart(): Promise<void> {
    await this.startAgain(false);
  }

  /** The port at which this Sentinel takes the master to be. */
  async masterPort(name: string): Promise<number | undefined> {
    const told = await this.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name);
    return Array.isArray(told) ? Number(told[1]) : undefined;
  }

  /** What it knows of the master, of the replicas or of the other Sentinels, as fields. */
  async list(what: "MASTER" | "REPLICAS" | "SENTINELS", name: string): Promise<Record<string, string>[]> {
    const told = await this.command("SENTINEL", what, name);
    const rows = what === "MASTER" ? [told] : Array.isArray(told) ? told : [];
    return rows.map((row) => fieldsOf(Array.isArray(row) ? row.map(String) : []));
  }

  /**
   * What this Sentinel lacks, as text. Undefined if it reaches a master, so many replicas and so many other Sentinels.
   */
  async misses(name: string, replicas: number, fellows: number): Promise<string | undefined> {
    // Other flags do not count. One of them is what another Sentinel thought of the old master up to five seconds ago.
    const well = ({ flags = "" }: Record<string, string>): boolean =>
      !/s_down|o_down|disconnected|failover_in_progress/.test(flags);
    const master = await this.list("MASTER", name);
    if (!master.every(well)) return `the master as ${master[0]?.flags}`;
    // What it reports of the replicas' links is up to an INFO period old, so it is not used.
    const known = await this.list("REPLICAS", name);
    if (known.filter(well).length < replicas) {
      return `replicas as ${known.map((row) => `${row.port} ${row.flags}`).join(", ")}`;
    }
    const heard = (await this.list("SENTINELS", name)).filter(well);
    return heard.length < fellows ? `${heard.length} other sentinels` : undefined;
  }
}

/** Turns alternating names and values into fields. */
function fieldsOf(words: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < words.length; at += 2) fields[words[at] ?? ""] = words[at + 1] ?? "";
  return fields;
}
