import type { IncomingMessage, ServerResponse } from "node:http";
import type { ActionBody, LockRow, Overview, ScheduleRow, Waits } from "../../src/contract/api.js";
import { type Scenario, StubWorld } from "./stub-world.js";

const world = new StubWorld(180);
const streams = new Set<{ response: ServerResponse; rows: Set<string>; overview: boolean }>();

function overview(): Overview {
  const contended = world.rows.filter(({ state }) => state === "contended");
  return {
    nowMs: Date.now(),
    held: world.rows.filter(({ state }) => state !== "idle").length,
    contended: contended.length,
    waiting: world.waiting(),
    oldestWaitMs: 54_900,
    lost: { count: 2, sinceMs: Date.now() - 3_600_000 },
    grantsPerSecond: (world.series.at(-1)?.grants ?? 0) / 5,
    hot: empty() ? [] : contended.toSorted((a, b) => b.waiterCount - a.waiterCount).slice(0, 8),
    clusters: world.clusters(),
    findings: world.findings,
    series: world.series,
  };
}

const empty = (): boolean => ["empty", "no-roots", "no-cluster"].includes(world.scenario);

function locks(query: URLSearchParams): unknown {
  const q = query.get("q") ?? "";
  const glob = new RegExp(
    q
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("*", ".*")
      .replaceAll("?", "."),
  );
  const values: Record<string, (row: LockRow) => number | string> = {
    waiters: (row) => -row.waiterCount,
    wait: (row) => row.oldestWait.atMs ?? Number.MAX_SAFE_INTEGER,
    hold: (row) => row.oldestHold.atMs ?? Number.MAX_SAFE_INTEGER,
    name: (row) => row.key,
  };
  const value = values[query.get("sort") ?? "waiters"] ?? values.waiters;
  const all = empty() ? [] : world.rows;
  const rows = all
    .filter(
      (row) =>
        (query.get("state") ?? row.state) === row.state &&
        (query.get("backend") ?? row.backend) === row.backend,
    )
    .filter(
      (row) =>
        (query.get("cluster") ?? row.cluster) === row.cluster && (query.get("kind") ?? row.kind) === row.kind,
    )
    .filter((row) => q === "" || glob.test(row.key))
    .toSorted((a, b) => {
      const [left, right] = [value?.(a) ?? 0, value?.(b) ?? 0];
      return left < right ? -1 : left > right ? 1 : 0;
    });
  const at = Number(query.get("cursor") ?? 0);
  const limit = Number(query.get("limit") ?? 100);
  return {
    nowMs: Date.now(),
    rows: rows.slice(at, at + limit),
    total: rows.length,
    known: all.length,
    coverage: world.scenario === "partial" ? 0.63 : 1,
    lastFullMs: Date.now() - 41_000,
    next: at + limit < rows.length ? String(at + limit) : null,
  };
}

function schedules(nowMs: number): ScheduleRow[] {
  const run = { attempt: 1, by: "billing-2", error: null };
  const dueMs = nowMs - 3_600_000;
  return [
    {
      cluster: "prod-eu",
      name: "nightly-report",
      last: { ...run, dueMs, state: "done", beganMs: dueMs + 12, endedMs: dueMs + 84_000 },
    },
    {
      cluster: "prod-eu",
      name: "invoice-run",
      last: {
        ...run,
        dueMs,
        state: "failed",
        attempt: 2,
        beganMs: dueMs + 40,
        endedMs: dueMs + 2_300,
        error: "the mail server refuses connections",
      },
    },
    {
      cluster: "prod-eu",
      name: "reindex",
      last: { ...run, dueMs: nowMs - 60_000, state: "running", beganMs: nowMs - 59_990, endedMs: null },
    },
    { cluster: "prod-eu", name: "yearly-close", last: null },
  ];
}

function waits(): Waits {
  const edges: Waits["edges"] = [];
  const actors = new Map<string, Waits["actors"][number]>();
  for (const row of world.rows.slice(0, 40)) {
    const [holder] = row.holders;
    if (holder?.actor == null) continue;
    for (const each of world.queues.get(row.id) ?? []) {
      if (each.actor === null || each.actor === holder.actor || edges.length > 60) continue;
      edges.push({
        from: each.actor,
        to: holder.actor,
        lockId: row.id,
        key: row.key,
        cluster: row.cluster,
        deadlineMs: each.deadlineMs,
      });
      for (const one of [each, holder]) {
        if (one.actor !== null)
          actors.set(one.actor, {
            actor: one.actor,
            label: one.identity?.label ?? one.address ?? one.actor,
            cluster: row.cluster,
            waiters: 1,
          });
      }
    }
  }
  const [first, second, third] = world.rows;
  const [one, two, three] = [...actors.keys()];
  const cycles: Waits["cycles"] =
    first && second && third && one && two && three
      ? [
          {
            actors: [one, two, three],
            lockIds: [first.id, second.id, third.id],
            certainty: "certain",
            resolvesMs: Date.now() + 14_000,
          },
          { actors: [two, three], lockIds: [second.id, third.id], certainty: "possible", resolvesMs: null },
        ]
      : [];
  return {
    nowMs: Date.now(),
    actors: [...actors.values()],
    edges,
    cycles,
    blind: [
      {
        cluster: "cache-eu",
        message:
          "cache-eu: 6 contended locks whose waiters leave no name in the backend (plain Redisson locks): not shown here",
      },
    ],
  };
}

const servers = {
  "prod-eu": ["leader", "follower", "follower"].map((role, n) => ({
    name: `zk-${n + 1}:2181`,
    role,
    reachable: n !== 2,
    version: n === 2 ? null : "3.8.4",
    facts:
      n === 2
        ? []
        : [
            { name: "zxid lag", value: String(n), warning: false },
            { name: "latency avg / max", value: "0.4 / 31 ms", warning: false },
            { name: "connections", value: "214", warning: false },
            { name: "watches", value: "1,204", warning: false },
            { name: "AdminServer", value: n === 1 ? "open to all" : "off", warning: n === 1 },
          ],
  })),
  "cache-eu": ["master", "replica", "replica", "sentinel"].map((role, n) => ({
    name: role === "sentinel" ? "10.0.0.9:26379" : `10.0.0.${7 + n}:6379`,
    role,
    reachable: true,
    version: "7.2.5",
    facts:
      role === "sentinel"
        ? [{ name: "sentinels", value: "3/3", warning: false }]
        : [
            { name: "offset", value: "88,120,334", warning: false },
            { name: "lag", value: n === 2 ? "4,096 B" : "0 B", warning: n === 2 },
            { name: "maxmemory-policy", value: n === 0 ? "allkeys-lru" : "noeviction", warning: n === 0 },
          ],
  })),
};

function answerGet(path: string, query: URLSearchParams): { status: number; body: unknown } {
  const ok = (body: unknown) => ({ status: 200, body });
  const nowMs = Date.now();
  const [what, id, more] = path.split("/").map(decodeURIComponent);
  const row = world.rows.find((each) => each.id === id);
  if (what === "me") {
    const role = world.scenario === "viewer" ? "viewer" : "admin";
    return ok({
      name: "anna",
      role,
      actions: world.scenario !== "read-only",
      history: false,
      csrfToken: "t",
      links: [{ title: "Logs", url: "https://logs.example/?host={host}", on: "owner" }],
      version: "0.1.0",
    });
  }
  if (what === "clusters") return ok({ clusters: world.clusters(), nowMs });
  if (what === "overview") return ok(overview());
  if (what === "locks" && id === undefined) return ok(locks(query));
  if (what === "locks" && row !== undefined && more === "history") {
    const rows = world.history.get(row.id) ?? [];
    const counts = [0, 3, 18, 44, 61, 12, 4, 0];
    return ok({
      sinceMs: nowMs - 3_000_000,
      rows,
      holdHistogram: counts.map((count, at) => ({ leMs: at === 7 ? null : 10 ** (at / 1.5) * 2, count })),
    });
  }
  if (what === "locks" && row !== undefined) return ok(world.detail(row));
  if (what === "sessions" && id === undefined)
    return ok({
      nowMs,
      rows: empty() ? [] : world.sessions(),
      messages: [
        "zk-3: neither AdminServer nor four-letter words answer, so its sessions are known by id alone.",
      ],
    });
  if (what === "sessions") {
    const session = world.sessions().find((each) => each.id === id);
    if (session !== undefined)
      return ok({ nowMs, session, released: session.holdCount, movedUp: 61, messages: [] });
  }
  if (what === "backends") {
    return ok({
      nowMs,
      clusters: world.clusters().map((cluster) => ({
        cluster,
        servers: servers[cluster.name as keyof typeof servers] ?? [],
        message: null,
      })),
    });
  }
  if (what === "findings") return ok({ nowMs, rows: world.findings, past: world.findings.slice(1, 2) });
  if (what === "waits") return ok(waits());
  if (what === "schedules") return ok({ nowMs, rows: schedules(nowMs), messages: [] });
  if (what === "audit") return ok({ rows: world.audit, next: null });
  if (what === "discover")
    return ok({
      rows: [
        { root: "/locks", locks: 120, libraries: ["curator", "holdfast"] },
        { root: "/jobs/*", locks: 9, libraries: ["kazoo"] },
      ],
    });
  return { status: 404, body: { error: "not-found", message: "Nothing of that name is there." } };
}

function send(response: ServerResponse, event: string, data: unknown): void {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

setInterval(() => {
  const changed = world.step();
  for (const { response, rows, overview: wanted } of streams) {
    const mine = changed.filter(({ id }) => rows.has(id));
    if (mine.length > 0) send(response, "locks", mine);
    if (changed.length > mine.length) send(response, "changes", { count: changed.length - mine.length });
    if (wanted) send(response, "overview", overview());
    send(response, "clusters", world.clusters());
  }
}, 1000).unref();

/** Answers requests below `api/v1/`, and `__stub?scenario=`, which changes the scenario. */
export async function answer(
  path: string,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const json = (status: number, body: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
  if (path === "__stub") {
    world.scenario = (query.get("scenario") ?? "plain") as Scenario;
    json(200, {});
  } else if (world.scenario === "slow") {
    setTimeout(() => json(200, {}), 60_000).unref();
  } else if (world.scenario === "signed-out") {
    json(401, { error: "unauthenticated", message: "Sign in to look." });
  } else if (path === "events") {
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
    });
    const stream = {
      response,
      rows: new Set((query.get("rows") ?? "").split(",")),
      overview: query.has("overview"),
    };
    streams.add(stream);
    request.on("close", () => streams.delete(stream));
    send(response, "hello", { nowMs: Date.now() });
  } else if (request.method === "POST") {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const [what, id] = path.split("/").map(decodeURIComponent);
    const row = world.rows.find((each) => each.id === id);
    if (what === "locks" && row !== undefined) {
      const { status, answer: body } = world.act(row, JSON.parse(text) as ActionBody);
      json(status, body);
    } else {
      const finding = world.findings.find((each) => each.id === id);
      if (finding !== undefined)
        finding.muted = {
          reason: (JSON.parse(text) as { reason: string }).reason,
          by: "anna",
          untilMs: Date.now() + 3_600_000,
        };
      json(200, {});
    }
  } else {
    const { status, body } = answerGet(path, query);
    json(status, body);
  }
}
