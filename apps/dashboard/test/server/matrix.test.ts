import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { Role } from "../../src/auth/roles.js";
import { lockIdOf } from "../../src/core/lock-id.js";
import { fakeParticipant } from "../fake-collector.js";
import { as, type Serving, serving } from "./serving.js";

const idOf = (key: string): string => lockIdOf({ cluster: "zoo", backend: "zookeeper", key });
const roles = ["viewer", "operator", "admin"] as const;

interface Route {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly needs: "public" | Role;
  readonly api: boolean;
  /** The status if the request is let in. */
  readonly status: number;
  readonly payload?: object;
}

const get = (url: string, status: number, needs: Route["needs"] = "viewer"): Route => ({
  ...{ method: "GET", url, needs, status },
  api: url.startsWith("/api/"),
});
const dryRun = {
  ...{ action: "force-release", entry: "h1", expectedVersion: "h1", confirmation: "", reason: "a test" },
  dryRun: true,
};
const routes: readonly Route[] = [
  get("/healthz", 200, "public"),
  get("/readyz", 200, "public"),
  get("/", 200),
  get("/locks/x", 200),
  get("/assets/none.js", 404),
  get("/no/such/page", 404),
  get("/metrics", 200),
  get("/api/v1/me", 200),
  get("/api/v1/locks", 200),
  get("/api/v1/audit", 200),
  get("/api/v1/nothing", 404),
  get(`/api/v1/locks/${idOf("/locks/a")}`, 200),
  get(`/api/v1/locks/${idOf("/made/up")}`, 404),
  get(`/api/v1/locks/${lockIdOf({ cluster: "other", backend: "zookeeper", key: "/locks/a" })}`, 404),
  get(`/api/v1/locks/${lockIdOf({ cluster: "zoo", backend: "redis", key: "/locks/a" })}/history`, 404),
  ...["locks", "sessions", "findings", "audit", "waits"].flatMap((list) => [
    get(`/api/v1/export/${list}?format=csv`, 200),
    get(`/api/v1/export/${list}?format=json&cluster=none`, 404),
  ]),
  get("/api/v1/export/nothing?format=csv", 404),
  get("/api/v1/history", 200),
  // This dashboard has no history; test/history/routes.test.ts asks these routes with one.
  get("/api/v1/ranking", 404),
  get(`/api/v1/locks/${idOf("/locks/a")}/story`, 404),
  get("/api/v1/discover?cluster=zoo", 200, "operator"),
  {
    ...{ method: "POST", url: `/api/v1/locks/${idOf("/locks/a")}/actions`, needs: "admin", api: true },
    ...{ status: 200, payload: dryRun },
  },
  {
    ...{ method: "POST", url: `/api/v1/locks/${idOf("/made/up")}/actions`, needs: "admin", api: true },
    ...{ status: 403, payload: dryRun },
  },
  {
    ...{ method: "POST", url: "/api/v1/findings/x/mute", needs: "operator", api: true },
    ...{ status: 404, payload: { reason: "a test", forMs: 60_000 } },
  },
];

const own = "127.0.0.1:8080";
const origins: Readonly<Record<string, Record<string, string>>> = {
  "no page": {},
  "the own page": { "sec-fetch-site": "same-origin", origin: `http://${own}` },
  "another site": { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
  "a page that an old browser shows": { origin: "https://evil.example" },
};
const heads: readonly Record<string, string>[] = [
  { host: own },
  { host: "localhost" },
  { host: "[::1]:8080" },
  { host: "evil.example" },
  { host: "127.0.0.1.evil.example" },
  { host: own, "x-forwarded-for": "10.0.0.1" },
  { host: own, "x-forwarded-proto": "https" },
  { host: own, "x-real-ip": "10.0.0.1" },
  { host: own, forwarded: "for=10.0.0.1;host=localhost" },
  { host: own, via: "1.1 proxy" },
  // A page whose name was rebound to this machine (DNS rebinding) can send this.
  { host: "evil.example", "x-forwarded-host": "localhost" },
];

/** A caller with credentials may use any host name and any proxy, so a few of these headers are enough. */
const headsOf = (local: boolean) =>
  local
    ? heads
    : heads.filter(
        ({ via, host, ...more }) =>
          via !== undefined || "x-forwarded-host" in more || (host === own && Object.keys(more).length === 0),
      );

function isSite(origin: string): boolean {
  return origin === "another site";
}

/** The expected status, derived from the rules only. */
function expected(
  route: Route,
  role: Role | null,
  origin: string,
  head: Record<string, string>,
  local: boolean,
) {
  if (local && Object.keys(head).length > 1) return 403;
  if (local && !/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(head.host ?? "")) return 403;
  if (route.needs === "public") return route.status;
  if (route.api && isSite(origin)) return 403;
  if (role === null) return 401;
  if (roles.indexOf(role) < roles.indexOf(route.needs)) return 403;
  const sent: Record<string, string> = origins[origin] ?? {};
  // A browser that says where a request comes from is believed, whatever a proxy has made of the host.
  const page = sent["sec-fetch-site"] === undefined ? sent.origin : undefined;
  if (route.method === "POST" && page !== undefined && new URL(page).host !== head.host) return 403;
  return route.status;
}

let address = 0;

async function walk(dashboard: Serving, role: Role | null, local: boolean, signIn: Record<string, string>) {
  const { app, zookeeper } = dashboard;
  zookeeper.put({ key: "/locks/a", holders: [fakeParticipant({ entry: "h1" })] });
  // Collectors answer like this for a key outside their roots.
  const act = zookeeper.act.bind(zookeeper);
  zookeeper.act = async (request) =>
    request.key.startsWith("/locks/")
      ? await act(request)
      : { outcome: "denied", effects: ["below no root"], before: null, after: null };
  const me = await app.inject({ url: "/api/v1/me", headers: { host: own, ...signIn } });
  const csrf = me.statusCode === 200 ? { "x-csrf-token": me.json().csrfToken } : {};
  const wrong: string[] = [];
  let cells = 0;
  for (const route of routes)
    for (const [origin, page] of Object.entries(origins))
      for (const head of headsOf(local)) {
        const answer = await app.inject({
          method: route.method,
          url: route.url,
          // Each request has its own address, so that no limit for one caller is reached.
          remoteAddress: `10.0.${++address >> 8}.${address & 255}`,
          headers: { ...page, ...head, ...signIn, ...(route.method === "POST" ? csrf : {}) },
          ...(route.payload === undefined ? {} : { payload: route.payload }),
        });
        cells += 1;
        const cell = `${route.method} ${route.url} from ${origin} with ${JSON.stringify(head)}`;
        const wanted = expected(route, role, origin, head, local);
        if (answer.statusCode !== wanted) wrong.push(`${cell}: ${answer.statusCode}, not ${wanted}`);
        const policy = String(answer.headers["content-security-policy"]);
        if (!policy.includes("default-src 'none'") || answer.headers["x-content-type-options"] !== "nosniff")
          wrong.push(`${cell}: ${answer.statusCode} without CSP or nosniff`);
        if (answer.statusCode >= 400 && answer.body.includes("/no/such"))
          wrong.push(`${cell}: the path comes back`);
      }
  expect(wrong).toEqual([]);
  expect(cells).toBe(routes.length * 4 * headsOf(local).length);
  expect(zookeeper.asked.filter((request) => !request.dryRun)).toEqual([]);
}

describe("each route, from each origin, with each header and host", () => {
  it.each([...roles, null])("answers %s as the table says, with sign-in", async (role) => {
    await using dashboard = await serving();
    await walk(dashboard, role, false, role === null ? {} : as(role));
  });

  it.each(roles)("answers the local caller, who is %s, as the table says, without sign-in", async (role) => {
    await using dashboard = await serving({
      ...{ tokens: [], anonymous: { name: null, role }, loopbackNames: true },
    });
    await walk(dashboard, role, true, {});
  });

  // A proxy may add no header. But nginx passes requests on by HTTP/1.0.
  it.each([
    ["1.1", true, 200],
    ["1.0", true, 403],
    ["1.0", false, 200],
  ])("answers HTTP/%s, without sign-in: %s, with %d", async (version, local, status) => {
    const without = { tokens: [], anonymous: { name: null, role: "viewer" as const }, loopbackNames: true };
    await using dashboard = await serving(local ? without : {});
    const { port } = new URL(await dashboard.app.listen({ host: "127.0.0.1", port: 0 }));
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(`GET /healthz HTTP/${version}\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    if (status === 403) expect(answer).toContain("and HTTP/1.0 says that a proxy has passed the request on");
  });

  it("the server's trust in a proxy does not change who is local", async () => {
    await using dashboard = await serving({
      ...{ tokens: [], anonymous: { name: null, role: "admin" }, loopbackNames: true, trustProxy: true },
    });
    await walk(dashboard, "admin", true, {});
  });
});
