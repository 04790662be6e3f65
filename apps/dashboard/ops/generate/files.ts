import { alertRules } from "./alert-rules.js";
import { dashboardProviderFile, datasourceFile, grafanaDashboard } from "./grafana.js";
import { prometheusFile } from "./prometheus.js";
import { recordingRules } from "./recording-rules.js";
import { alertFile, recordingFile } from "./rules.js";

/** The generated files, by their paths below `ops`. */
export function madeFiles(): ReadonlyMap<string, string> {
  return new Map([
    ["prometheus/prometheus.yml", prometheusFile()],
    ["prometheus/rules/recording.yml", recordingFile(recordingRules)],
    ["prometheus/rules/alerts.yml", alertFile(alertRules)],
    ["grafana/provisioning/datasources/prometheus.yml", datasourceFile()],
    ["grafana/provisioning/dashboards/holdfast.yml", dashboardProviderFile()],
    ["grafana/dashboards/locks.json", `${JSON.stringify(grafanaDashboard(), null, 2)}\n`],
  ]);
}
