import type { Scenario, Tag } from "../engine/scenario.js";
import { catalogue } from "../scenarios/catalogue.js";
import { UsageError } from "./usage.js";

const tags: readonly Tag[] = ["smoke", "full", "nightly"];

/** The scenarios with these ids, or with this tag, in the order of `from`. @throws UsageError */
export function chooseScenarios(
  ids: readonly string[],
  tag: string | undefined,
  otherwise: Tag | null,
  from: readonly Scenario[] = catalogue,
): Scenario[] {
  if (tag !== undefined && !tags.includes(tag as Tag)) {
    throw new UsageError(`--tag is ${tags.join(", ")}; not ${JSON.stringify(tag)}`);
  }
  if (ids.length > 0) {
    if (tag !== undefined) throw new UsageError("give ids or --tag, not both");
    const unknown = ids.filter((id) => !from.some((scenario) => scenario.id === id));
    if (unknown.length > 0)
      throw new UsageError(`there is no scenario ${unknown.join(", ")}: see holdfast-chaos list`);
    return from.filter(({ id }) => ids.includes(id));
  }
  const wanted = tag ?? otherwise;
  return from.filter((scenario) => wanted === null || scenario.tags.includes(wanted as Tag));
}
