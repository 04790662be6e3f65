import type { JSX } from "preact";

// Drawn for 16 x 16. Each shape is different, so that no two of them differ only by colour.
const shapes = {
  held: <circle cx="8" cy="8" r="5.5" fill="currentColor" />,
  contended: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5a5.5 5.5 0 0 1 0 11Z" fill="currentColor" stroke="none" />
    </>
  ),
  idle: <circle cx="8" cy="8" r="5.5" />,
  ok: <path d="m3 8.5 3.5 3.5L13 4.5" />,
  info: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="M8 7.25v4M8 4.6v.4" />
    </>
  ),
  warning: <path d="M8 2 14.5 13.5h-13ZM8 6.5v3.25M8 11.4v.3" />,
  critical: <path d="M5.4 1.75h5.2l3.65 3.65v5.2l-3.65 3.65H5.4L1.75 10.6V5.4ZM8 4.75v4M8 10.9v.4" />,
  down: <path d="m4 4 8 8m0-8-8 8" />,
  syncing: <path d="M13.5 8A5.5 5.5 0 0 1 3.6 11.3M2.5 8a5.5 5.5 0 0 1 9.9-3.3M12.5 2v3h-3M3.5 14v-3h3" />,
  stale: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="M8 4.25V8l2.5 1.75" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.5" />
      <path d="m10.5 10.5 3.5 3.5" />
    </>
  ),
  pause: <path d="M5.5 3.5v9m5-9v9" />,
  play: <path d="M5 3.2v9.6L12.5 8Z" fill="currentColor" />,
  copy: <path d="M5.5 5.5V2.5h8v8h-3m-8-5h8v8h-8Z" />,
  user: (
    <>
      <circle cx="8" cy="5.5" r="2.75" />
      <path d="M2.75 14c.5-3 2.5-4.25 5.25-4.25S12.75 11 13.25 14" />
    </>
  ),
  menu: <path d="M2.5 4.5h11m-11 3.5h11m-11 3.5h11" />,
  next: <path d="m6 3 5 5-5 5" />,
  denied: <path d="M4 7.5h8v6H4Zm1.75 0V5a2.25 2.25 0 0 1 4.5 0v2.5" />,
  muted: <path d="M2.5 6v4H5l3.5 3V3L5 6Zm8.5.5 3 3m0-3-3 3" />,
} as const satisfies Record<string, JSX.Element>;

export type IconName = keyof typeof shapes;

/** A picture beside a word. It says nothing by itself, so it is hidden from screen readers. */
export function Icon({ name, class: extra }: { name: IconName; class?: string }): JSX.Element {
  return (
    <svg class={extra === undefined ? "icon" : `icon ${extra}`} viewBox="0 0 16 16" aria-hidden="true">
      {shapes[name]}
    </svg>
  );
}
