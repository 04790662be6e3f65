import { goesThroughPlaces } from "@holdfast/collectors/internal";
import type { ClusterRow } from "../../../src/contract/api.js";

/** Whether a source has no places to go through in the configuration. */
export const isWithoutPlaces = ({ source, state }: ClusterRow["sources"][number]): boolean =>
  goesThroughPlaces(source) && state === "off";

/** Whether anything goes through any place of this cluster. */
export const looksForLocks = ({ sources }: Pick<ClusterRow, "sources">): boolean =>
  sources.some(({ source, state }) => goesThroughPlaces(source) && state !== "off");
