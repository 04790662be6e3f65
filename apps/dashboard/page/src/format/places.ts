import { goesThroughPlaces } from "@holdfast/collectors/internal";
import type { ClusterRow } from "../../../src/contract/api.js";

/** Whether a source lists locks by places, and the configuration names none. */
export const isWithoutPlaces = ({ source, state }: ClusterRow["sources"][number]): boolean =>
  goesThroughPlaces(source) && state === "off";

/** Whether any source goes through any place of this cluster. */
export const looksForLocks = ({ sources }: Pick<ClusterRow, "sources">): boolean =>
  sources.some(({ source, state }) => goesThroughPlaces(source) && state !== "off");
