import type { ClusterRow } from "../../../src/contract/api.js";

/** Whether a source is one that goes through the places in which locks are kept. Others only tell of what somebody has found. */
const goesThrough = (source: string): boolean => /^(watch|poll|walk|scan)\b/.test(source);

/** A source that was told no places. */
export const isWithoutPlaces = ({ source, state }: ClusterRow["sources"][number]): boolean =>
  goesThrough(source) && state === "off";

/** Whether anything goes through any place of this cluster. */
export const looksForLocks = ({ sources }: Pick<ClusterRow, "sources">): boolean =>
  sources.some(({ source, state }) => goesThrough(source) && state !== "off");
