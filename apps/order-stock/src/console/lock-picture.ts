import type { LockSnapshot, ParticipantInfo } from "@holdfast/core";
import type { LivePicture } from "./screen.js";

/**
 * Holder and queue of a lock beside the stock, as text. Each of the `notes` is shown after the name that it belongs to.
 */
export function drawLock(
  snapshot: LockSnapshot,
  stock: number,
  notes: ReadonlyMap<string, string>,
): LivePicture {
  const name = (person: ParticipantInfo): string => {
    const own = nameOf(person);
    const note = notes.get(own) ?? "";
    return note === "" ? own : `${own} (${note})`;
  };
  const holder = snapshot.held
    .map((hold) => (hold.token === null ? name(hold) : `${name(hold)}, token ${hold.token}`))
    .join(" and ");
  const more = (snapshot.pendingTotal ?? snapshot.pending.length) - snapshot.pending.length;
  const queue = [...snapshot.pending.map(name), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const shown = { holder: holder || "nobody", queue: queue || "nobody", stock: String(stock) };
  return {
    rows: [`  ┌ holder  ${shown.holder}`, `  │ queue   ${shown.queue}`, `  └ stock   ${shown.stock}`],
    line: `  holder: ${shown.holder} | queue: ${shown.queue} | stock: ${shown.stock}`,
  };
}

/**
 * The label of a worker is its name, followed by host and pid. An unknown client is shown by the best name that is
 * known.
 */
function nameOf(person: ParticipantInfo): string {
  return person.label?.split(" ")[0] ?? person.address ?? person.session ?? person.backendId;
}
