export type { OncePerOptions, Run, RunReport, Schedule } from "./api.js";
export { type CronCoordinator, cronCoordinator } from "./cron.js";
export { type LastRun, lastRun, lastRuns } from "./last-run.js";
export { oncePer, runDue } from "./once-per.js";
