import type { ObjectKind } from "../history/record.js";
import type { ServerAddresses } from "./addresses.js";

/** The kinds of lock for which your own client can be asked. */
export type ProvidedKind = Extract<
  ObjectKind,
  "mutex" | "reentrant" | "fair" | "read-write" | "semaphore" | "multi"
>;

/** The kinds of servers to which a client can connect. */
export type ProvidedServers = Exclude<ServerAddresses["kind"], "none" | "attacked">;

/** What a client can do. What it does not provide is not judged, and reports say so. */
export interface Provides {
  /** The kinds of lock that it makes. */
  readonly kinds: readonly ProvidedKind[];
  /** The servers to which it can connect, by the `kind` of their addresses. */
  readonly servers: readonly ProvidedServers[];
  /** Whether grants carry fencing tokens that rise. Default false. */
  readonly tokens?: boolean;
  /** Whether a holder is notified that it lost the lock. Default false. */
  readonly tellsLoss?: boolean;
  /** Whether a grant says until when it is promised. Default false. */
  readonly promises?: boolean;
  /** Whether grants come in the order in which clients asked. Default false. */
  readonly fair?: boolean;
}

const kinds: readonly ProvidedKind[] = ["mutex", "reentrant", "fair", "read-write", "semaphore", "multi"];
const servers: readonly ProvidedServers[] = ["zookeeper", "redis", "replicated", "masters", "other"];
const abilities = ["tokens", "tellsLoss", "promises", "fair"] as const;

/** Reads what a client reports that it provides. @throws RangeError that names the wrong member and its allowed values */
export function readProvides(given: unknown): Provides {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new RangeError("provides is an object with kinds and servers");
  }
  const fields = given as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    if (name !== "kinds" && name !== "servers" && !abilities.includes(name as never)) {
      throw new RangeError(`provides has no member ${name}: it has kinds, servers, ${abilities.join(", ")}`);
    }
  }
  const read: Provides = {
    kinds: listOf("kinds", fields.kinds, kinds),
    servers: listOf("servers", fields.servers, servers),
  };
  const told = abilities.filter((name) => fields[name] !== undefined);
  for (const name of told) {
    if (typeof fields[name] !== "boolean") throw new RangeError(`provides.${name} is true or false`);
  }
  return { ...read, ...Object.fromEntries(told.map((name) => [name, fields[name]])) };
}

function listOf<T extends string>(name: string, given: unknown, known: readonly T[]): readonly T[] {
  const fits =
    Array.isArray(given) && given.length > 0 && given.every((each) => known.includes(each as never));
  if (!fits) {
    throw new RangeError(
      `provides.${name} is a list of ${known.join(", ")}; not ${JSON.stringify(given) ?? "left out"}`,
    );
  }
  return given as readonly T[];
}
