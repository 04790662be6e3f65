import { type Signal, signal } from "@preact/signals";

const query = matchMedia("(max-width: 700px)");

/** Whether the window is as narrow as a phone: lists then have one line of facts below each name instead of columns. */
export const narrow: Signal<boolean> = signal(query.matches);
query.addEventListener("change", () => {
  narrow.value = query.matches;
});
