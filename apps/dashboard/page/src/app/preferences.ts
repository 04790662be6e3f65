import { effect, type Signal, signal } from "@preact/signals";

// Settings that belong to this browser and not to a link. If storage is forbidden, they last as long as the page.

function kept<T extends string>(name: string, values: readonly T[], otherwise: T): Signal<T> {
  const key = `holdfast.${name}`;
  let found: string | null = null;
  try {
    found = localStorage.getItem(key);
  } catch {
    // Storage is forbidden, so the default is used.
  }
  const value = signal<T>(values.find((each) => each === found) ?? otherwise);
  effect(() => {
    const now = value.value;
    try {
      localStorage.setItem(key, now);
    } catch {
      // Storage is forbidden or full, so the setting lasts as long as the page.
    }
  });
  return value;
}

export const theme: Signal<"system" | "light" | "dark"> = kept(
  "theme",
  ["system", "light", "dark"],
  "system",
);
export const shortcuts: Signal<"on" | "off"> = kept("shortcuts", ["on", "off"], "on");

effect(() => {
  const chosen = theme.value;
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
});
