// For the test, which is TypeScript.
export interface VitestReport {
  testResults: {
    name: string;
    status: string;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
}
export function judge(
  report: VitestReport | null,
  runFailure: string | null,
  filtered: boolean,
): { passed: number; failed: number; remarks: string[] };
export function readReport(file: string): Promise<VitestReport | null>;
