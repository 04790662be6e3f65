import { runDue } from "@holdfast/schedules";
import { eventually } from "@holdfast/test-servers";
import type { Findings, Sessions } from "../../../apps/dashboard/src/contract/api.js";
import type { LiveWorld } from "./live-world.js";

/** All kinds of pages. */
export const pageNames = [
  "overview",
  "locks",
  "lock",
  "sessions",
  "session",
  "backends",
  "findings",
  "waits",
  "schedules",
  "audit",
  "about",
] as const;

/** The things that the pages show, and the paths of the pages. */
export interface Scene extends AsyncDisposable {
  /** Paths below the dashboard's base, by the name of the page. */
  readonly pages: Readonly<Record<string, string>>;
  /** A lock that is held and waited for. */
  readonly contended: string;
}

/** Scheduled jobs; the dashboard shows their last runs. */
const jobs = {
  "nightly-report": async (): Promise<void> => {},
  "invoice-run": async (): Promise<void> => {
    throw new Error("the mail server refuses connections");
  },
};

/**
 * Something of everything: contention, sharing, runs of schedules, a deadlock that ends with the scene, and a row in the audit
 * log.
 */
export async function playScene(world: LiveWorld): Promise<Scene> {
  // Only one client of each backend publishes its identity. All clients here are in one process: under its name, the dashboard
  // would count their waits as blocking one another.
  const nameless = { identity: false };
  const [one, two, three, four, five] = await Promise.all([
    world.zookeeperClient(),
    ...Array.from({ length: 4 }, () => world.zookeeperClient(nameless)),
  ]);
  const [redis, other] = await Promise.all([world.redisClient(), world.redisClient(nameless)]);
  if (two === undefined || three === undefined || four === undefined || five === undefined)
    throw new Error("there are five clients");
  const over = new AbortController();
  const { signal } = over;
  const waits: Promise<unknown>[] = [];
  /** For acquires that wait until the scene is over. */
  const wait = (acquire: Promise<unknown>): void => {
    waits.push(acquire.catch(() => {}));
  };

  await one.mutex("/live/orders/export").acquire({ label: "nightly export" });
  for (const waiting of [two, three, four]) wait(waiting.mutex("/live/orders/export").acquire({ signal }));
  await one.readWriteLock("/live/catalogue").read.acquire();
  await two.readWriteLock("/live/catalogue").read.acquire();
  wait(three.readWriteLock("/live/catalogue").write.acquire({ signal }));
  await two.semaphore("/live/report-slots", 3).acquire();
  await three.semaphore("/live/report-slots", 3).acquire();
  await four.mutex("/live/accounts/117").acquire();
  await five.mutex("/live/accounts/204").acquire();
  wait(four.mutex("/live/accounts/204").acquire({ signal }));
  wait(five.mutex("/live/accounts/117").acquire({ signal }));
  await redis.mutex("live:invoice:4711").acquire({ label: "billing" });
  wait(other.mutex("live:invoice:4711").acquire({ signal }));
  await other.mutex("live:stock:shoe-42").acquire();
  await redis.mutex("live:<img src=x onerror=alert(1)>").acquire();

  await Promise.all(
    Object.entries(jobs).map(([name, job]) =>
      eventually(() => runDue(one, name, { every: 100, by: "billing-2" }, job), { what: `a run of ${name}` }),
    ),
  );

  const { id } = await world.dashboard.row("/live/orders/export", ({ waiterCount }) => waiterCount === 3);
  const [holder] = (await world.dashboard.detail(id)).lock.holders;
  await world.dashboard.act(id, {
    action: "force-release",
    entry: holder?.entry ?? null,
    confirmation: "/live/orders/export",
    reason: "Export has not moved since 02:00",
    dryRun: true,
  });
  await eventually(
    async () => {
      const { rows } = await world.dashboard.get<Findings>("findings");
      return rows.some(({ kind }) => kind === "deadlock-suspected");
    },
    { what: "the deadlock found", withinMs: 30_000, everyMs: 200 },
  );
  const { rows } = await world.dashboard.get<Sessions>("sessions");
  const session = rows.find(({ holds, identity }) => holds.length > 1 && identity !== null);
  return {
    contended: `locks/${id}`,
    pages: {
      overview: "",
      locks: "locks",
      lock: `locks/${id}`,
      sessions: "sessions",
      session: `sessions/${encodeURIComponent(session?.id ?? "")}?of=${session?.cluster}`,
      backends: "backends",
      findings: "findings",
      waits: "waits",
      schedules: "schedules",
      audit: "audit",
      about: "about",
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all(waits);
    },
  };
}
