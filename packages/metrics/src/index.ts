export { type Catalogue, type CatalogueEntry, type CatalogueLabel, catalogueTable } from "./catalogue.js";
export { lockCatalogue } from "./lock-catalogue.js";
export { defaultLockGroup } from "./lock-group.js";
export { type LockMetrics, type LockMetricsOptions, lockMetrics } from "./lock-metrics.js";
export type { AnyRegistry } from "./metric-set.js";
