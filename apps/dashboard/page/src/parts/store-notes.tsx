import type { JSX } from "preact";
import type { HistoryStatus } from "../../../src/contract/history.js";
import type { View } from "../app/view.js";
import { many } from "../format/number.js";
import { At } from "./age.js";
import { Icon } from "./icon.js";

/**
 * What a reader has to know of the store behind the figures: that it cannot be written, or that there was no room for
 * everything.
 */
export function StoreNotes(props: { history: HistoryStatus; fromMs: number; view: View }): JSX.Element {
  const { history, fromMs, view } = props;
  const { failure, dropped, holdsSinceMs } = history;
  return (
    <>
      {failure !== null && (
        <p class="notice bad" role="status">
          <Icon name="critical" />
          <span>The history cannot be written: {failure}. What happens now may be missing here.</span>
        </p>
      )}
      {dropped > 0 && (
        <p class="notice warn">
          <Icon name="warning" />
          <span>{many(dropped, "change was", "changes were")} not recorded since the dashboard started.</span>
        </p>
      )}
      {holdsSinceMs !== null && holdsSinceMs > fromMs && (
        <p class="note">
          Single holds are kept since <At ms={holdsSinceMs} zone={view.zone} toSecond />; before, only what is
          counted.
        </p>
      )}
    </>
  );
}
