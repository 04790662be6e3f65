import { stringify } from "yaml";

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  /** How long the condition must be true before the alert fires. If left out, it fires at once. */
  readonly for?: string;
  /** `page`: an operator acts at once, also at night. `warn`: an operator acts today. `info`: an operator only needs to know it. */
  readonly severity: "page" | "warn" | "info";
  readonly summary: string;
  readonly description: string;
  /** The first thing that the operator should do. */
  readonly advice: string;
  /** The page of the dashboard on which to look. */
  readonly page?: string;
}

export const generatedNote =
  "Made by apps/dashboard/ops/generate; change it there (apps/dashboard/ops/README.md).";

export function recordingFile(rules: readonly RecordingRule[]): string {
  return file([{ name: "holdfast-recording", interval: "15s", rules }]);
}

export function alertFile(rules: readonly AlertRule[]): string {
  return file([
    {
      name: "holdfast-alerts",
      rules: rules.map(({ alert, expr, for: forTime, severity, ...annotations }) => ({
        alert,
        expr,
        ...(forTime === undefined ? {} : { for: forTime }),
        labels: { severity },
        annotations,
      })),
    },
  ]);
}

function file(groups: readonly object[]): string {
  return `# ${generatedNote}\n${stringify({ groups }, { lineWidth: 0 })}`;
}
