// Functions with which our own programs evaluate the reports of collectors. They need nothing but the language to be loaded,
// so a browser can load them too.

export { duration, roughly, span } from "./judge/durations.js";
export { goesThroughPlaces, listsLocks } from "./judge/list-sources.js";
export { shownName, typedName, visible } from "./judge/shown-name.js";
export { slowHolds, usualLongHoldMs } from "./judge/slow-holds.js";
export { strongComponents } from "./judge/strong-components.js";
export { textMatcher } from "./judge/text-matcher.js";
export { cyclesOf, type WaitCycle } from "./judge/wait-cycles.js";
export { type ContendedLock, edgesOf, processNode, type WaitEdge } from "./judge/wait-edges.js";
export { shortId, whoIs } from "./judge/who-is.js";
export { Warnings } from "./kit/warnings.js";
