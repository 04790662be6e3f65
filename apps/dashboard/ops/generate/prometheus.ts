import { stringify } from "yaml";
import { dashboardJob } from "./alert-rules.js";
import { generatedNote } from "./rules.js";

/** The configuration for the containers of compose.yaml: host names are the names of its services. */
export function prometheusFile(): string {
  const config = {
    global: { scrape_interval: "15s", evaluation_interval: "15s" },
    rule_files: ["/etc/prometheus/rules/*.yml"],
    scrape_configs: [
      {
        job_name: dashboardJob,
        metrics_path: "/metrics",
        authorization: { type: "Bearer", credentials_file: "/run/secrets/prometheus-token" },
        static_configs: [{ targets: ["dashboard:8080"] }],
      },
      { job_name: "prometheus", static_configs: [{ targets: ["127.0.0.1:9090"] }] },
    ],
  };
  return (
    `# ${generatedNote}\n${stringify(config, { lineWidth: 0 })}` +
    `  # Services that use lockMetrics() of @holdfast/metrics:
  # - job_name: my-service
  #   static_configs:
  #     - targets: ["my-service:9464"]
`
  );
}
