export { exporterCatalogue } from "./catalogue.js";
export {
  type ExporterMetrics,
  type ExporterOptions,
  type ExporterState,
  exporterMetrics,
} from "./exporter-metrics.js";
export type { NamedCollector } from "./lock-census.js";
export type { AdminAction, AdminOutcome } from "./words.js";
