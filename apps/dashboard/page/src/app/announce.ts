import { type Signal, signal } from "@preact/signals";

/** What a screen reader is told, politely, when it has time. */
export const announced: Signal<string> = signal("");

const pauseMs = 3000;
let next: string | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;

/** Says it; what comes within 3 s of another waits, and only the last of those is said. */
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
