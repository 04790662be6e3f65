import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A modal dialog of the browser: it keeps the focus, Escape closes it, and the focus goes back to where it was. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  wide?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // The focus goes to the first field, or to the title. The page does not scroll, because what stands above a field
    // has to be read.
    const first = dialog.current?.querySelector<HTMLElement>("[data-first]") ?? title.current;
    first?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={props.wide ? "wide" : ""}
      aria-labelledby="dialog-title"
      onClose={props.onClose}
    >
      <header>
        <h2 id="dialog-title" ref={title} tabIndex={-1}>
          {props.title}
        </h2>
        <button type="button" class="plain-button" aria-label="Close" onClick={() => dialog.current?.close()}>
          <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d="m4 4 8 8m0-8-8 8" />
          </svg>
        </button>
      </header>
      {props.children}
    </dialog>
  );
}
