import { useEffect } from "preact/hooks";
import { shortcuts } from "../app/preferences.js";
import { type Command, Shortcuts } from "./shortcuts.js";

const writes = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";

/** Moves the focus among the links of the rows. Enter opens the focused one, as with any link. */
function moveRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

export function useShortcuts(run: (command: Exclude<Command, { do: "row" }>) => void): void {
  useEffect(() => {
    const keys = new Shortcuts();
    const press = (event: KeyboardEvent): void => {
      if (shortcuts.peek() === "off" || event.defaultPrevented) return;
      const target = event.target instanceof Element ? event.target : null;
      const busy = target?.closest(writes) != null || document.querySelector("dialog[open]") !== null;
      const { key, ctrlKey, metaKey, altKey } = event;
      const command = keys.press({ key, ctrlKey, metaKey, altKey, busy }, event.timeStamp);
      if (command === null) return;
      event.preventDefault();
      if (command.do === "row") moveRow(command.by);
      else run(command);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [run]);
}
