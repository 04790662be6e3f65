export { checkerNames, judge } from "./checkers/judge.js";
export type { CheckResult, Verdict } from "./checkers/verdict.js";
export { readHistory } from "./history/read.js";
export type * from "./history/record.js";
export { HistoryWriter } from "./history/writer.js";
