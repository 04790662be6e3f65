// What our own programs make of what collectors tell. None of it needs more than the language, so that a browser takes it too.

export { duration, roughly, span } from "./judge/durations.js";
export { shownName, typedName, visible } from "./judge/shown-name.js";
export { slowHolds, usualLongHoldMs } from "./judge/slow-holds.js";
export { strongComponents } from "./judge/strong-components.js";
export { textMatcher } from "./judge/text-matcher.js";
export { cyclesOf, type WaitCycle } from "./judge/wait-cycles.js";
export { type ContendedLock, edgesOf, processNode, type WaitEdge } from "./judge/wait-edges.js";
export { shortId, whoIs } from "./judge/who-is.js";
