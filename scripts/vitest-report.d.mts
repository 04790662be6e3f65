// For the test, which is TypeScript.
export interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message?: string;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
}
export interface OutsideError {
  message: string;
  stack?: string;
}
export function judge(
  report: VitestReport | null,
  runFailure: string | null,
  filtered: boolean,
  outsideErrors?: readonly OutsideError[],
): { passed: number; failed: number; remarks: string[] };
export interface Red {
  file: string;
  test: string | null;
  error: string;
}
export function redsOf(report: VitestReport | null, outsideErrors?: readonly OutsideError[]): Red[];
export function readReport(file: string): Promise<VitestReport | null>;

export function choosesTests(filters: readonly string[]): boolean;
