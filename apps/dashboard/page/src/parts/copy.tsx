import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../app/announce.js";
import { Icon } from "./icon.js";

/** Copies a text. Without the clipboard (plain http from another host) it shows the text selected instead. */
export function Copy({ text, what }: { text: string; what: string }): JSX.Element {
  const [state, setState] = useState<"idle" | "done" | "by-hand">("idle");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (state === "by-hand") field.current?.select();
    if (state !== "done") return;
    const timer = setTimeout(() => setState("idle"), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setState("done");
      announce(`Copied the ${what}`);
    } catch {
      setState("by-hand");
    }
  };
  if (state === "by-hand") {
    return (
      <input
        ref={field}
        class="copy-field"
        readOnly
        value={text}
        aria-label={what}
        onBlur={() => setState("idle")}
      />
    );
  }
  return (
    <button type="button" class="small" onClick={copy}>
      <Icon name={state === "done" ? "ok" : "copy"} />
      {state === "done" ? "Copied" : `Copy ${what}`}
    </button>
  );
}
