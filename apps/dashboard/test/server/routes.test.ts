import fastify, { type RouteOptions } from "fastify";
import { describe, expect, it } from "vitest";
import { lockIdOf } from "../../src/core/lock-id.js";
import { fastifyHoldfast, longestParameter } from "../../src/index.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";
import { as, changing, serving, tokens } from "./serving.js";

/** The roles that routes need. The table must be complete: a new route without a line here makes the test fail. */
const table: Readonly<Record<string, "public" | "viewer" | "operator">> = {
  "GET /healthz": "public",
  "GET /readyz": "public",
  "GET /metrics": "viewer",
  "GET /": "viewer",
  "GET /locks": "viewer",
  "GET /locks/*": "viewer",
  "GET /sessions": "viewer",
  "GET /sessions/*": "viewer",
  "GET /backends": "viewer",
  "GET /findings": "viewer",
  "GET /waits": "viewer",
  "GET /schedules": "viewer",
  "GET /ranking": "viewer",
  "GET /audit": "viewer",
  "GET /about": "viewer",
  "GET /assets/*": "viewer",
  "GET /api/v1/me": "viewer",
  "GET /api/v1/clusters": "viewer",
  "GET /api/v1/overview": "viewer",
  "GET /api/v1/locks": "viewer",
  "GET /api/v1/locks/:id": "viewer",
  "GET /api/v1/locks/:id/history": "viewer",
  "GET /api/v1/locks/:id/story": "viewer",
  "GET /api/v1/history": "viewer",
  "GET /api/v1/ranking": "viewer",
  "POST /api/v1/locks/:id/actions": "operator",
  "GET /api/v1/sessions": "viewer",
  "GET /api/v1/sessions/:id": "viewer",
  "GET /api/v1/backends": "viewer",
  "GET /api/v1/findings": "viewer",
  "POST /api/v1/findings/:id/mute": "operator",
  "GET /api/v1/waits": "viewer",
  "GET /api/v1/schedules": "viewer",
  "GET /api/v1/audit": "viewer",
  "GET /api/v1/export/locks": "viewer",
  "GET /api/v1/export/sessions": "viewer",
  "GET /api/v1/export/findings": "viewer",
  "GET /api/v1/export/audit": "viewer",
  "GET /api/v1/export/waits": "viewer",
  "GET /api/v1/discover": "operator",
  "GET /api/v1/events": "viewer",
  "GET /api/v1/openapi.json": "viewer",
};
const anyMethod = ["/api/v1/*", "/*"];
const roles = ["viewer", "operator", "admin"] as const;

async function routesOf(): Promise<{
  routes: RouteOptions[];
  close(): Promise<void>;
  app: Awaited<ReturnType<typeof serving>>["app"];
}> {
  const routes: RouteOptions[] = [];
  const app = fastify({ routerOptions: { maxParamLength: longestParameter } });
  app.addHook("onRoute", (route) => {
    routes.push(route);
  });
  const collector = new FakeCollector();
  collector.put({ key: "/locks/a", holders: [fakeParticipant({ entry: "one" })] });
  await app.register(fastifyHoldfast, {
    clusters: [{ name: "zoo", collector }],
    tokens: roles.map((role) => ({ name: role, role, token: tokens[role] })),
    actions: true,
  });
  await app.ready();
  return { routes, app, close: async () => await app.close() };
}

describe("routes and roles", () => {
  it("every route is in the table with its role, and the table has no other", async () => {
    const { routes, close } = await routesOf();
    const found: Record<string, string> = {};
    for (const { method, url, config } of routes)
      for (const each of [method].flat())
        if (each !== "HEAD" && !anyMethod.includes(url)) found[`${each} ${url}`] = String(config?.access);
    await close();
    expect(found).toEqual(table);
  });

  it("every method of every route answers 401 without credentials, 403 below its role, and neither from its role on", async () => {
    const { routes, app, close } = await routesOf();
    const id = lockIdOf({ cluster: "zoo", backend: "zookeeper", key: "/locks/a" });
    let asked = 0;
    for (const { method, url, config } of routes) {
      for (const each of [method].flat()) {
        if (url.endsWith("/events")) continue;
        const path = url.replace(":id", id).replace("*", "x");
        const request = { method: each as "GET", url: path };
        const payload = ["GET", "HEAD"].includes(each) ? {} : { payload: {} };
        const needed = config?.access ?? "nobody";
        const nobody = await app.inject({ ...request, ...payload });
        const wrong = await app.inject({
          ...request,
          ...payload,
          headers: { authorization: "Bearer wrong-token-0123456789" },
          remoteAddress: `10.0.0.${asked % 250}`,
        });
        const open = needed === "public";
        expect([nobody.statusCode === 401, wrong.statusCode === 401], `${each} ${url}`).toEqual([
          !open,
          !open,
        ]);
        for (const role of roles) {
          const answer = await app.inject({ ...request, ...payload, headers: await changing(app, role) });
          const allowed = open || roles.indexOf(role) >= roles.indexOf(needed as "viewer");
          expect([401, 403].includes(answer.statusCode), `${each} ${url} as ${role}: ${answer.body}`).toBe(
            !allowed,
          );
          expect(answer.statusCode, `${each} ${url} as ${role}`).toBeLessThan(500);
          asked += 1;
        }
      }
    }
    await close();
    expect(asked).toBeGreaterThan(90);
  });

  it("the stream of events too is for viewers", async () => {
    await using dashboard = await serving();
    const answer = await dashboard.app.inject({ url: "/api/v1/events" });
    expect(answer.statusCode).toBe(401);
  });

  it("a route that declares no role stops the start", async () => {
    const app = fastify({ routerOptions: { maxParamLength: longestParameter } });
    const { guardAccess } = await import("../../src/server/access.js");
    const start = async (): Promise<void> => {
      await app.register(async (scope) => {
        guardAccess(scope, {} as never);
        scope.get("/forgotten", () => "open to all");
      });
      await app.ready();
    };
    await expect(start()).rejects.toThrow("GET /forgotten: no access is declared");
  });

  it("a plugin whose options let no caller in does not start", async () => {
    const app = fastify({ routerOptions: { maxParamLength: longestParameter } });
    app.register(fastifyHoldfast, { clusters: [] });
    await expect(app.ready()).rejects.toThrow("say who may come in");
  });

  it("the error for a host whose router would cut the ids of long names says what to set", async () => {
    const app = fastify();
    app.register(fastifyHoldfast, { clusters: [], anonymous: { name: null, role: "viewer" } });
    await expect(app.ready()).rejects.toThrow("maxParamLength: 16384");
  });

  it("the host's own routes keep their errors, headers and freedom from roles", async () => {
    const app = fastify({ routerOptions: { maxParamLength: longestParameter } });
    app.get("/mine", () => "mine");
    app.get("/broken", () => {
      throw new Error("of the host");
    });
    await app.register(fastifyHoldfast, {
      prefix: "/admin/locks",
      clusters: [],
      anonymous: { name: null, role: "viewer" },
    });
    const mine = await app.inject("/mine");
    expect([mine.statusCode, mine.body, mine.headers["content-security-policy"]]).toEqual([
      200,
      "mine",
      undefined,
    ]);
    expect((await app.inject("/broken")).json()).toMatchObject({ message: "of the host" });
    const ours = await app.inject("/admin/locks/api/v1/me");
    expect(ours.statusCode).toBe(200);
    expect(ours.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    await app.close();
  });

  it("an unknown thing in the API is a problem in words", async () => {
    await using dashboard = await serving();
    const answer = await dashboard.app.inject({ url: "/api/v1/nothing", headers: as("viewer") });
    expect([answer.statusCode, answer.json().error]).toEqual([404, "not-found"]);
  });
});
