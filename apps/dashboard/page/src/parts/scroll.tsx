import type { ComponentChildren, JSX } from "preact";

/** A table that may be wider than the window. It scrolls by itself, also by keyboard. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
