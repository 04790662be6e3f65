import type { JSX } from "preact";
import type { LockDetail } from "../../../../src/contract/api.js";
import type { Chosen } from "../../actions/action-dialog.js";
import { actionNames, asAction } from "../../actions/words.js";
import { may } from "../../app/store.js";

export type Offered = LockDetail["actions"][number];

/** The button of an action, for users who may ask for it. `off` says why it is not possible now. */
export function Act({
  offered,
  off,
  choose,
}: {
  offered: Offered;
  off: string | null;
  choose: (chosen: Chosen) => void;
}): JSX.Element | null {
  const action = asAction(offered.action);
  if (action === null || !may(offered.role)) return null;
  const { button, harmless } = actionNames[action];
  return (
    <button
      type="button"
      class={harmless ? "small" : "small danger-quiet"}
      disabled={off !== null}
      title={off ?? undefined}
      onClick={() => choose({ action, entry: offered.entry })}
    >
      {button}
    </button>
  );
}
