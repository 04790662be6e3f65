import { type Signal, signal } from "@preact/signals";

/** The text for a screen reader, in a polite live region: it is read out when the reader has time. */
export const announced: Signal<string> = signal("");

const pauseMs = 3000;
let next: string | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;

/** Announces a text. Texts that come within 3 s of another one wait, and only the last of them is announced. */
export function announce(text: string): void {
  if (timer !== null) {
    next = text;
    return;
  }
  announced.value = text;
  timer = setTimeout(() => {
    timer = null;
    const waiting = next;
    next = null;
    if (waiting !== null) announce(waiting);
  }, pauseMs);
}
