import type { FaultMatch } from "@holdfast/test-servers";
import {
  eventFaults,
  type FaultKind,
  handshakeFaults,
  type RequestShape,
  requestFaults,
} from "./fault-kinds.js";
import type { Operation } from "./operations/operation.js";
import type { Recipe } from "./recipes.js";
import { Stage } from "./support/stage.js";
import { World } from "./support/world.js";

/** The n-th request, event or handshake of one client in one operation. */
export interface Point extends RequestShape {
  readonly recipe: Recipe;
  readonly operation: Operation;
  readonly client: string;
  readonly target: "request" | "event" | "connect";
  readonly nth: number;
}

export interface Outcome {
  readonly hit: boolean;
  readonly violations: string[];
  readonly refusals: readonly string[];
  readonly grants: number;
  readonly lines: readonly string[];
}

const operationLimitMs = 60_000;

/** The requests, events and handshakes of the operation when nothing goes wrong. */
export async function pointsOf(operation: Operation, recipe: Recipe): Promise<Point[]> {
  await using world = await World.start(1);
  const stage = new Stage(world, recipe, []);
  await prepare(stage, operation);
  const points: Point[] = [];
  const record = (target: Point["target"], match: FaultMatch): void => {
    for (const { label, session } of stage.clients) {
      let nth = 0;
      const fault = world.server.faults.on(
        { ...match, session, times: Number.POSITIVE_INFINITY },
        // A rule for an event cannot call a function, so it holds the event for 0 ms.
        target === "request" ? { do: "run", at: "frame", call: () => {} } : { do: "hold", forMs: 0 },
      );
      const happened = fault.happened.bind(fault);
      fault.happened = (hit) => {
        happened(hit);
        const nodes = world.server.sessions().find(({ id }) => id === session)?.ephemerals ?? [];
        const own = hit.paths.some((path) => nodes.includes(path));
        points.push({ operation, recipe, client: label, target, nth: ++nth, op: hit.target ?? "?", own });
      };
    }
  };
  record("request", {});
  record("event", { op: "event" });
  record("connect", { op: "connect" });
  await world.within(operationLimitMs, operation.name, operation.act(stage));
  const { length } = points;
  await world.finish([stage]);
  if (world.witness.violations.length > 0) {
    throw new Error(
      `${recipe.name}, ${operation.name}, without a fault: ${world.witness.violations.join("; ")}`,
    );
  }
  return points.slice(0, length);
}

export function faultsFor(point: Point): readonly FaultKind[] {
  if (point.target === "event") return eventFaults;
  if (point.target === "connect") return handshakeFaults;
  return requestFaults.filter(({ honest }) => honest?.(point) ?? true);
}

export function describePoint(
  { recipe, operation, client, target, nth, op }: Point,
  kind: FaultKind,
): string {
  return `${recipe.name}, ${operation.name}: ${target} ${nth} of ${client} (${op}) ${kind.name}`;
}

/** Makes the fault happen at exactly this point, lets it end, and judges the run. */
export async function tryPoint(point: Point, kind: FaultKind): Promise<Outcome> {
  const { operation, recipe, client, target, nth } = point;
  await using world = await World.start(seedOf(describePoint(point, kind)));
  const { witness } = world;
  // If the server refuses a delete for good, the node stays until the session ends. So its owner then closes the provider.
  const stuck = point.op === "delete" && kind.refuses !== undefined;
  const refuses = [...(kind.refuses ?? []), ...(stuck ? ["ProviderClosedError"] : [])];
  const stage = new Stage(world, recipe, refuses);
  await prepare(stage, operation);
  const match = { session: stage.client(client).session, nth };
  const fault = kind.arm(world, target === "request" ? match : { ...match, op: target }, [stage.path]);
  void fault.reached().then(() => {
    world.log(`FAULT ${describePoint(point, kind)}`);
    if (stuck) world.after(1_000, () => void stage.client(client).locks.close());
  });
  try {
    await world.within(operationLimitMs, "the operation does not end", operation.act(stage));
    await world.finish([stage]);
  } catch (error) {
    witness.violation(error instanceof Error ? error.message : String(error));
  }
  const { violations, grants } = witness;
  const { refusals } = stage;
  return { hit: fault.hits.length > 0, violations, refusals, grants, lines: world.lines };
}

/** The seed of a point: the point gives the same run each time, with its own random numbers. */
function seedOf(title: string): number {
  let seed = 7;
  for (const letter of title) seed = (seed * 31 + letter.charCodeAt(0)) % 1_000_003;
  return seed + 1;
}

async function prepare(stage: Stage, operation: Operation): Promise<void> {
  await stage.open(operation.clients, operation.options);
  await operation.before?.(stage);
}
