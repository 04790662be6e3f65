export { buildShims, findCompiler, type Shims } from "./build.js";
export { type ShimCounts, ShimHandle } from "./shim-handle.js";
