// Exports for sibling packages that register catalogues of their own. Not covered by semantic versioning.

export { labelTable } from "./catalogue.js";
export { LabelGuard, otherValue } from "./label-guard.js";
export { type LintedMetric, lintCatalogue, lintRegistry } from "./lint.js";
export { type AnyRegistry, MetricSet } from "./metric-set.js";
export { findPromClient } from "./prom-client.js";
export { backends, labelWord, recipes } from "./words.js";
