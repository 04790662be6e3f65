import type { JSX } from "preact";
import { shortcuts } from "../app/preferences.js";
import { places } from "../keys/shortcuts.js";
import { Dialog } from "./dialog.js";

const others = [
  ["/", "Search locks"],
  ["j, k", "Next and previous row"],
  ["Enter", "Open the row"],
  ["p", "Pause and resume"],
  ["?", "This list"],
  ["Esc", "Close"],
] as const;

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {others.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
        {Object.entries(places).map(([key, [, name]]) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{name}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={shortcuts.value === "on"}
          onChange={(event) => {
            shortcuts.value = event.currentTarget.checked ? "on" : "off";
          }}
        />
        Enable single-key shortcuts
      </label>
    </Dialog>
  );
}
