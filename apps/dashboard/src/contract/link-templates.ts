// Links that lead out of the dashboard, to logs or a ticket system. The page fills them in; the server checks the
// templates. This file imports nothing, so that the page stays small.

/** What a link is shown beside. `owner`: a holder of a lock. */
export type LinkPlace = "lock" | "owner" | "session";

/** One link, as the configuration has it. */
export interface LinkTemplate {
  /** Its text. */
  readonly title: string;
  /** `https://` or `http://`, with placeholders such as `{host}` behind the host name. */
  readonly url: string;
  /** What it is shown beside. */
  readonly on: LinkPlace;
}

const who = ["owner", "label", "host", "pid", "session", "address", "ip"] as const;
const where = ["cluster", "backend"] as const;

/** The placeholders that a link may have. */
export const placeholders = {
  lock: [...where, "lock", "kind"],
  owner: [...where, "lock", "kind", ...who],
  session: [...where, ...who, "server"],
} as const satisfies Record<LinkPlace, readonly string[]>;

export type LinkValues<P extends LinkPlace> = Readonly<
  Record<(typeof placeholders)[P][number], string | number | null>
>;

/**
 * The address for these values; `null` if one of them is not known, or would change more than its place in the address.
 */
export function filledIn(
  url: string,
  values: Readonly<Record<string, string | number | null>>,
): string | null {
  let whole = true;
  const filled = url.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const text = String(values[name] ?? "");
    // Dots alone are steps up the path, even when they are escaped.
    if (text === "" || /^\.+$/.test(text) || /[\ud800-\udfff]/u.test(text)) whole = false;
    return whole ? encodeURIComponent(text) : "";
  });
  return whole ? filled : null;
}

/** `10.0.0.7` of `10.0.0.7:51234`, `::1` of `[::1]:51234`. */
export function ipOf(address: string | null): string | null {
  const [, six, four] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::\d+)?$/i.exec(address ?? "") ?? [];
  return six ?? four ?? null;
}
