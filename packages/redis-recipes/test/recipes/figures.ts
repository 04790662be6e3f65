const none = {
  mutexes: 0,
  readWriteLocks: 0,
  elections: 0,
  grants: 0,
  reads: 0,
  notified: 0,
  requeued: 0,
  acknowledged: 0,
  keptByReplica: 0,
  timeouts: 0,
  aborts: 0,
  failures: 0,
  losses: 0,
  crashes: 0,
  closes: 0,
  pauses: 0,
  cuts: 0,
  failovers: 0,
  stepsForward: 0,
  stepsBack: 0,
  forced: 0,
  lent: 0,
  keptUntilWish: 0,
  keptUntilLost: 0,
  javaGrants: 0,
  javaWoken: 0,
  maybeTwoHolders: 0,
  refusals: 0,
  refusedRenewals: 0,
  onlyRefused: 0,
};

/** What schedules have met. The sums show whether many schedules together have met everything. */
export type Figures = { [K in keyof typeof none]: number };

export const noFigures = (): Figures => ({ ...none });

export function addFigures(sum: Figures, more: Figures): void {
  for (const key of Object.keys(sum) as (keyof Figures)[]) sum[key] += more[key];
}
