import type { Zone } from "../format/instant.js";

/** The settings that every link carries along. */
export interface Shared {
  readonly cluster: string | null;
  readonly zone: Zone;
}

export function parseShared(search: string): Shared {
  const query = new URLSearchParams(search);
  return { cluster: query.get("cluster") || null, zone: query.get("tz") === "utc" ? "utc" : "local" };
}

/** A link within the dashboard. `path` is relative to its base, without a slash in front. */
export function linkTo(
  base: string,
  path: string,
  shared: Shared,
  query: Record<string, string> = {},
): string {
  const search = new URLSearchParams({
    ...(shared.cluster !== null && { cluster: shared.cluster }),
    ...query,
    ...(shared.zone === "utc" && { tz: "utc" }),
  }).toString();
  return `${base}${path}${search === "" ? "" : `?${search}`}`;
}
