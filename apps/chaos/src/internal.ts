// What other packages of this repository need beside the public interface.
export { type Interrupt, onSignals } from "./cli/signals.js";
export { SweptFolder } from "./engine/machine/swept-folder.js";
export { programOf } from "./engine/programs.js";
export { topologyName } from "./engine/server-pool.js";
export { proxiedLink, unproxiedLink } from "./engine/topologies/links.js";
export type { WorkerProgram } from "./engine/worker-process.js";
export { writeTimeline } from "./report/timeline/write-timeline.js";
export { judgedWith } from "./subject/judged-with.js";
