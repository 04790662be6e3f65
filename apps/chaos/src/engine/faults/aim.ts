import type { Worker } from "../crew.js";
import type { LiveHold } from "../tally.js";
import { parseWorkerTarget } from "../trigger.js";
import type { FaultContext } from "./fault.js";

/** A chosen worker, and a check whether it is still the target that the plan meant. */
export interface Aim {
  readonly worker: Worker;
  /** The hold, keeping or wait that made it the target; `null` if the plan named the worker. */
  readonly of: string | null;
  /** Whether it still is what it was chosen for, according to the records that have arrived. */
  stands(): boolean;
}

const within = 30_000;

/** After this time a holder has read the value over which it is going to write, also on a busy machine. */
const readWithinMs = 40;

/**
 * Finds the worker that a target means at this moment. Waits for a holder or waiter if there is none; returns `null` if
 * the run ends first, or the limit is over. Throws for a target that is no worker.
 * With `options.working` the target is a holder in the middle of its work: it has had the time to read, and has not
 * sent its write.
 */
export async function aim(context: FaultContext): Promise<Aim | null> {
  const { crew, tally, signal, random } = context;
  const text = context.planned.target ?? "";
  const target = parseWorkerTarget(text);
  if (target === null)
    throw new RangeError(`${context.planned.fault} wants a worker as target, not ${JSON.stringify(text)}`);
  const { role, name } = target;
  if (role === "worker") {
    const worker = crew.worker(name);
    if (worker === undefined) throw new RangeError(`there is no worker ${name}`);
    return { worker, of: null, stands: () => true };
  }
  const working = context.planned.options?.working === true;
  const holders = (): LiveHold[] => {
    const all = tally.holders(name);
    return working ? all.filter(({ id, sinceMs }) => !tally.wrote(id) && ago(sinceMs) >= readWithinMs) : all;
  };
  const keepers = (): Aim[] => {
    const keeping = tally.keeping(name);
    const worker = keeping === null ? undefined : crew.worker(keeping.p);
    if (keeping === null || worker === undefined || worker.paused || !worker.process.running) return [];
    return [{ worker, of: keeping.id, stands: () => tally.keeping(name) === keeping }];
  };
  const found = (): Aim[] => {
    if (role === "keeper") return keepers();
    const waiters = tally.waiters(name);
    const those = role === "holder" ? holders() : role === "waiter" ? waiters : waiters.slice(1).slice(-1);
    return those.flatMap((each) => {
      const worker = crew.worker(each.p);
      if (worker === undefined || worker.paused || !worker.process.running) return [];
      const of = "id" in each ? each.id : `${each.p}:${each.op}`;
      const stands = (): boolean =>
        "id" in each
          ? // A loss is no miss: most faults make a holder lose its lock.
            !(tally.givenBack(each.id) || (working && tally.wrote(each.id)))
          : tally.waiters(name).some(({ p, op }) => p === each.p && op === each.op);
      return [{ worker, of, stands }];
    });
  };
  // Look now and then as well: time passes without records.
  const endMs = performance.now() + within;
  for (;;) {
    await tally.until(() => found().length > 0, { signal, withinMs: 10 });
    // A holder or waiter that was there only for a moment may be gone again by now.
    const [first, ...others] = found();
    if (first !== undefined) return random.pick([first, ...others]);
    if (signal.aborted || performance.now() >= endMs) return null;
  }
}

/**
 * Hits a worker with `blow`, and checks whether it still was the target when the blow took effect. If not, calls `undo`
 * and tries the next worker. A holder may release while the signal is on its way.
 */
export async function strike(
  context: FaultContext,
  blow: (aim: Aim) => Promise<void>,
  undo: (aim: Aim) => Promise<void>,
): Promise<Aim> {
  for (let tries = 1; ; tries++) {
    const aimed = await aim(context);
    if (aimed === null || context.signal.aborted) {
      throw new Error(`${context.planned.fault}: there was no ${context.planned.target} to hit`);
    }
    context.begins(aimed.worker.name);
    await blow(aimed);
    if (aimed.stands()) return aimed;
    await undo(aimed);
    context.missed(aimed.worker.name, { missed: aimed.of, try: tries });
    if (tries >= 50) throw new Error(`${context.planned.fault} missed ${context.planned.target} 50 times`);
  }
}

const ago = (ms: number): number => performance.now() - ms;
