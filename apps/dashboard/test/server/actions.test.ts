import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { AuditLog } from "../../src/actions/audit-log.js";
import type { Role } from "../../src/auth/roles.js";
import type { ActionBody, AuditRow, FindingRow } from "../../src/contract/api.js";
import { lockIdOf } from "../../src/core/lock-id.js";
import { fakeParticipant } from "../fake-collector.js";
import { soon } from "../soon.js";
import { as, changing, type Serving, serving } from "./serving.js";

const key = "/locks/a";
const id = lockIdOf({ cluster: "zoo", backend: "zookeeper", key });
const usual: ActionBody = {
  action: "force-release",
  entry: "h1",
  expectedVersion: "h1",
  confirmation: key,
  reason: "the holder hangs",
};

const done: AuditRow = {
  ...{ id: "act", atMs: 1, actor: "ada", role: "admin", address: "", action: "force-release" },
  ...{ cluster: "zoo", object: key, entry: null, before: null, after: null, reason: "first" },
  ...{ dryRun: false, outcome: "done" },
};

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-audit-"));
});
afterEach(async () => await rm(directory, { recursive: true }));

async function act(dashboard: Serving, role: Role, body: Partial<ActionBody> = {}, headers = {}) {
  const answer = await dashboard.app.inject({
    method: "POST",
    url: `/api/v1/locks/${id}/actions`,
    headers: { ...(await changing(dashboard.app, role)), ...headers },
    payload: { ...usual, ...body },
  });
  return { status: answer.statusCode, ...answer.json() };
}

async function audit(dashboard: Serving): Promise<AuditRow[]> {
  return (await dashboard.app.inject({ url: "/api/v1/audit", headers: as("viewer") })).json().rows;
}

async function staged(options: Parameters<typeof serving>[0] = {}): Promise<Serving> {
  const dashboard = await serving(options);
  dashboard.zookeeper.put({
    key,
    holders: [fakeParticipant({ entry: "h1" })],
    waiters: [fakeParticipant({ entry: "w1" })],
  });
  return dashboard;
}

describe("actions", () => {
  it("force-release is done for an admin, and who, what, why and the versions before and after are written down", async () => {
    const file = join(directory, "audit.jsonl");
    await using dashboard = await staged({ audit: { file } });
    const answer = await act(dashboard, "admin");
    expect(answer).toMatchObject({
      status: 200,
      outcome: "done",
      before: { version: "h1" },
      after: { version: "none" },
    });
    const [row] = await audit(dashboard);
    expect(row).toMatchObject({
      id: answer.auditId,
      actor: "the admin",
      role: "admin",
      action: "force-release",
      cluster: "zoo",
      object: key,
      entry: "h1",
      before: "h1",
      after: "none",
      reason: "the holder hangs",
      dryRun: false,
      outcome: "done",
    });
    const lines = (await readFile(file, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ outcome }) => outcome)).toEqual(["begun", "done"]);
    expect(lines[1]).toEqual(row);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("each action takes its role, and a refusal is written down too", async () => {
    await using dashboard = await staged();
    for (const action of ["force-release", "evict-waiter", "clean-orphan"] as const)
      expect(await act(dashboard, "operator", { action })).toMatchObject({ status: 403, error: "forbidden" });
    expect(dashboard.zookeeper.asked).toEqual([]);
    expect(await act(dashboard, "operator", { action: "request-revoke" })).toMatchObject({ status: 200 });
    expect((await audit(dashboard)).map(({ outcome }) => outcome)).toEqual([
      "done",
      "denied",
      "denied",
      "denied",
    ]);
    const { body } = await dashboard.app.inject({ url: "/metrics", headers: as("viewer") });
    expect(body).toMatch(/admin_actions_total\{cluster="zoo",action="force_release",outcome="denied"\} 1/);
  });

  it("no role can do anything while actions are off, and no action is offered", async () => {
    await using dashboard = await staged({ actions: false });
    expect(await act(dashboard, "admin")).toMatchObject({ status: 403, error: "actions-off" });
    expect(await act(dashboard, "admin", { dryRun: true })).toMatchObject({
      status: 403,
      error: "actions-off",
    });
    expect(dashboard.zookeeper.asked).toEqual([]);
    const detail = await dashboard.app.inject({ url: `/api/v1/locks/${id}`, headers: as("admin") });
    expect(detail.json().actions).toEqual([]);
  });

  it("a hand-over since the page was drawn is a conflict: nothing is done, and the answer names the present holder", async () => {
    await using dashboard = await staged();
    dashboard.zookeeper.put({ key, holders: [fakeParticipant({ entry: "h2" })], waiters: [] });
    const answer = await act(dashboard, "admin");
    expect(answer).toMatchObject({
      status: 409,
      outcome: "conflict",
      before: { holders: [{ entry: "h2" }] },
    });
    expect(dashboard.zookeeper.get(key)?.holders[0]?.entry).toBe("h2");
    expect((await audit(dashboard))[0]?.outcome).toBe("conflict");
  });

  it("the name must be typed exactly, except to try out", async () => {
    await using dashboard = await staged();
    for (const confirmation of ["", "/locks/A", "/locks/a ", "a"])
      expect(await act(dashboard, "admin", { confirmation })).toMatchObject({
        status: 422,
        error: "not-confirmed",
      });
    expect(dashboard.zookeeper.asked).toEqual([]);
    const tried = await act(dashboard, "admin", { confirmation: "", dryRun: true });
    expect(tried).toMatchObject({ status: 200, outcome: "would-do", effects: ["force-release reaches h1."] });
    expect(dashboard.zookeeper.get(key)?.holders.length).toBe(1);
  });

  it("a body without a reason, or with an unknown action or field, is refused before anything is read", async () => {
    await using dashboard = await staged();
    for (const body of [
      { reason: "" },
      { reason: "x".repeat(501) },
      { action: "drop" as never },
      { force: true } as never,
    ])
      expect(await act(dashboard, "admin", body)).toMatchObject({ status: 400, error: "bad-request" });
    expect(dashboard.zookeeper.asked).toEqual([]);
  });

  it("what cannot be written down is not done", async () => {
    await using dashboard = await staged({ audit: { file: "/dev/full" } });
    expect(await act(dashboard, "admin")).toMatchObject({ status: 503, error: "audit-unavailable" });
    expect(dashboard.zookeeper.asked).toEqual([]);
    expect((await audit(dashboard))[0]?.outcome).toBe("denied");
  });

  it("an audit file that cannot be written stops the start", async () => {
    await expect(serving({ audit: { file: join(directory, "no", "such", "place") } })).rejects.toThrow(
      "ENOENT",
    );
  });

  it("a backend that fails in the act leaves `unknown` in the audit, and the answer does not say that it was done", async () => {
    await using dashboard = await staged();
    dashboard.zookeeper.failure = new Error("connection lost");
    const answer = await act(dashboard, "admin");
    expect(answer).toMatchObject({ status: 503, error: "outcome-unknown" });
    expect(answer.message).toContain("may or may not have happened");
    expect((await audit(dashboard))[0]?.outcome).toBe("unknown");
  });

  it("an act on a lock that could not be read was not done, in the audit as in the answer", async () => {
    await using dashboard = await staged();
    dashboard.zookeeper.act = async () => ({
      ...{ outcome: "unread", effects: ["no connection"], before: null, after: null },
    });
    const answer = await act(dashboard, "admin");
    expect(answer).toMatchObject({ status: 503, error: "backend-failed" });
    expect(answer.message).toContain("could not be read: no connection");
    expect((await audit(dashboard)).map(({ outcome }) => outcome)).toEqual(["denied"]);
  });

  it("what the collector denies is denied in the audit too, and not taken for something that may have happened", async () => {
    await using dashboard = await staged();
    dashboard.zookeeper.act = async () => ({
      ...{ outcome: "denied", effects: ["It is below no root."], before: null, after: null },
    });
    const answer = await act(dashboard, "admin");
    expect(answer).toMatchObject({ status: 403, error: "denied", message: "It is below no root." });
    expect((await audit(dashboard)).map(({ outcome }) => outcome)).toEqual(["denied"]);
  });

  it("an act on what no known library has made takes one more word, and the lock's detail says so", async () => {
    await using dashboard = await staged();
    const confirmed: unknown[] = [];
    dashboard.zookeeper.act = async ({ dryRun, unknownLibrary }) => {
      if (!dryRun) confirmed.push(unknownLibrary);
      const outcome = dryRun ? "would-do" : unknownLibrary === true ? "done" : "denied";
      return { outcome, effects: [], before: null, after: null, unknownLibrary: dryRun };
    };
    const { actions } = (
      await dashboard.app.inject({ url: `/api/v1/locks/${id}`, headers: as("admin") })
    ).json();
    expect(actions[0]).toMatchObject({ unknownLibrary: true });
    expect((await act(dashboard, "admin")).status).toBe(403);
    expect((await act(dashboard, "admin", { library: "curator" as never })).status).toBe(400);
    expect((await act(dashboard, "admin", { library: "unknown" })).status).toBe(200);
    expect(confirmed).toEqual([false, true]);
  });

  it("dry runs and refusals never push out of the audit what was done", async () => {
    const log = await AuditLog.open({});
    await log.begin(done);
    await log.end(done);
    for (let n = 2; n <= 3_000; n++)
      await log.end({
        ...done,
        id: `minor ${n}`,
        atMs: n,
        dryRun: n % 2 === 0,
        outcome: n % 2 === 0 ? "would-do" : "denied",
      });
    const { rows } = log.page(5_000);
    expect(rows.at(-1)).toEqual(done);
    expect(rows.length).toBeLessThanOrEqual(2_000);
    expect(rows.map(({ atMs }) => atMs)).toEqual(rows.map(({ atMs }) => atMs).toSorted((a, b) => b - a));
  });

  it("refusals of many hours behind it do not hide after a restart what was done", async () => {
    const file = join(directory, "audit.jsonl");
    const refused = Array.from({ length: 20_000 }, (_, n) => ({
      ...done,
      id: `refused ${n}`,
      outcome: "denied",
      reason: "x".repeat(300),
    }));
    const lines = [{ ...done, outcome: "begun" }, done, ...refused].map((row) => JSON.stringify(row));
    await writeFile(file, `${lines.join("\n")}\n`);
    const log = await AuditLog.open({ file });
    const { rows } = log.page(5_000);
    expect(rows.at(-1)).toEqual(done);
    expect(rows.slice(0, -1)).toEqual(refused.slice(-1_000).reverse());
    await log.close();
  });

  it("whatever a caller that is not known names, a line of its refusal is short", async () => {
    await using dashboard = await staged();
    const long = lockIdOf({ cluster: "\u0002".repeat(500), backend: "redis", key: "\u0001".repeat(10_000) });
    const { statusCode } = await dashboard.app.inject({
      method: "POST",
      url: `/api/v1/locks/${long}/actions`,
      headers: { "sec-fetch-site": "cross-site" },
    });
    expect(statusCode).toBe(403);
    const [row] = await audit(dashboard);
    expect(row?.outcome).toBe("denied");
    expect(JSON.stringify(row).length).toBeLessThan(2_500);
  });

  it("after thirty in a minute there are no more", async () => {
    await using dashboard = await staged();
    const headers = await changing(dashboard.app, "admin");
    const statuses: number[] = [];
    for (let n = 0; n < 31; n++) {
      const { statusCode } = await dashboard.app.inject({
        method: "POST",
        url: `/api/v1/locks/${id}/actions`,
        headers,
        payload: { ...usual, dryRun: true },
      });
      statuses.push(statusCode);
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    expect(statuses.at(-1)).toBe(429);
  });

  it("the lock's page is offered what each role may do, with its effects", async () => {
    await using dashboard = await staged();
    const offered = async (role: Role): Promise<string[]> => {
      const { actions } = (
        await dashboard.app.inject({ url: `/api/v1/locks/${id}`, headers: as(role) })
      ).json();
      return actions.map(({ action, entry }: { action: string; entry: string }) => `${action} ${entry}`);
    };
    expect(await offered("viewer")).toEqual([]);
    expect(await offered("operator")).toEqual(["request-revoke h1"]);
    expect(await offered("admin")).toEqual(["request-revoke h1", "evict-waiter w1", "force-release h1"]);
    expect(dashboard.zookeeper.asked.every(({ dryRun }) => dryRun)).toBe(true);
  });

  it("the audit is there again after a restart, half a line of a full disk notwithstanding", async () => {
    const file = join(directory, "audit.jsonl");
    {
      await using dashboard = await staged({ audit: { file } });
      await act(dashboard, "admin", { reason: "first" });
    }
    await writeFile(file, '{"id":"half', { flag: "a" });
    {
      await using dashboard = await staged({ audit: { file } });
      await act(dashboard, "admin", { reason: "second" });
      expect((await audit(dashboard)).map(({ reason }) => reason)).toContain("first");
    }
    // The new line after the incomplete one must be complete.
    await using dashboard = await staged({ audit: { file } });
    expect((await audit(dashboard)).map(({ reason }) => reason)).toEqual(["second", "first"]);
    const lines = (await readFile(file, "utf8")).split("\n");
    expect(lines.filter((line) => line.includes('"begun"'))).toHaveLength(2);
    expect(lines).toContain('{"id":"half');
  });

  it("a webhook hears of each row, with its header", async () => {
    const heard: { row: AuditRow; authorization: string | undefined }[] = [];
    const server = createServer((request, response) => {
      request.setEncoding("utf8");
      let text = "";
      request.on("data", (part) => {
        text += part;
      });
      request.on("end", () => {
        heard.push({ row: JSON.parse(text), authorization: request.headers.authorization });
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    {
      await using dashboard = await staged({ audit: { webhook: { url, authorization: "Bearer secret" } } });
      await act(dashboard, "admin");
    }
    server.close();
    expect(heard).toMatchObject([{ row: { outcome: "done" }, authorization: "Bearer secret" }]);
  });

  it("a webhook whose header cannot be sent is a warning without the header", async () => {
    const warnings: string[] = [];
    {
      const webhook = { url: "http://127.0.0.1:1/hook", authorization: "Bearer hunter2\nhunter3" };
      await using dashboard = await staged({
        audit: { webhook },
        onWarning: (line) => warnings.push(line),
      });
      await act(dashboard, "admin");
    }
    expect(warnings.join()).toContain("the audit webhook failed: TypeError");
    expect(warnings.join()).not.toContain("hunter");
  });

  it("a webhook that does not answer does not hold up the end", async () => {
    const server = createServer(() => {});
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const dashboard = await staged({ audit: { webhook: { url } } });
    for (let at = 0; at < 3; at++) await act(dashboard, "admin", { dryRun: true });
    const begunMs = performance.now();
    await dashboard[Symbol.asyncDispose]();
    expect(performance.now() - begunMs).toBeLessThan(10_000);
  });

  it("a forced release counts as lost in the overview of its cluster, a dry run and a refusal do not", async () => {
    await using dashboard = await staged();
    const lost = async (cluster: string): Promise<number> =>
      (
        await dashboard.app.inject({ url: `/api/v1/overview?cluster=${cluster}`, headers: as("viewer") })
      ).json().lost.count;
    await act(dashboard, "admin", { dryRun: true });
    await act(dashboard, "operator");
    await act(dashboard, "admin", { expectedVersion: "other" });
    expect(await lost("zoo")).toBe(0);
    expect((await act(dashboard, "admin")).status).toBe(200);
    expect([await lost("zoo"), await lost("red")]).toEqual([1, 0]);
    const missing = await dashboard.app.inject({ url: "/api/v1/overview?cluster=no", headers: as("viewer") });
    expect(missing.statusCode).toBe(404);
  });

  it("a forced release on Redis, which takes a lock away from all its readers, counts each of them, and one permit as one", async () => {
    await using dashboard = await staged();
    const holders = ["r1", "r2", "r3"].map((entry) => fakeParticipant({ entry, mode: "shared" }));
    const lostBy = async (kind: "read-write-lock" | "permit-semaphore"): Promise<number> => {
      const key = `a ${kind}`;
      // The lock's row shows only the first readers.
      dashboard.redis.ends = ({ entry }) =>
        kind === "read-write-lock" ? Array.from({ length: 7 }, (_, at) => `r${at}`) : [entry ?? ""];
      dashboard.redis.put({ key, kind, holders, holderCount: 7 });
      const answer = await dashboard.app.inject({
        method: "POST",
        url: `/api/v1/locks/${lockIdOf({ cluster: "red", backend: "redis", key })}/actions`,
        headers: await changing(dashboard.app, "admin"),
        payload: { ...usual, entry: "r2", expectedVersion: "r1,r2,r3", confirmation: key },
      });
      expect(answer.json()).toMatchObject({ outcome: "done" });
      const overview = { url: "/api/v1/overview?cluster=red", headers: as("viewer") };
      return (await dashboard.app.inject(overview)).json().lost.count;
    };
    expect(await lostBy("read-write-lock")).toBe(7);
    expect(await lostBy("permit-semaphore")).toBe(8);
  });

  it("an operator mutes a finding with a reason and an end, and it is muted for all users", async () => {
    await using dashboard = await staged();
    dashboard.zookeeper.findingList = [
      {
        id: "f",
        kind: "long-hold",
        severity: "warning",
        object: key,
        sinceMs: 1,
        evidence: "held",
        advice: "look",
      },
    ];
    const findings = async (): Promise<FindingRow[]> =>
      (await dashboard.app.inject({ url: "/api/v1/findings", headers: as("viewer") })).json().rows;
    await soon(async () => (await findings()).length).toBe(1);
    const finding = (await findings())[0]?.id;
    const answer = await dashboard.app.inject({
      method: "POST",
      url: `/api/v1/findings/${finding}/mute`,
      headers: await changing(dashboard.app, "operator"),
      payload: { reason: "known", forMs: 60_000 },
    });
    expect(answer.statusCode).toBe(200);
    expect((await findings())[0]?.muted).toMatchObject({ reason: "known", by: "the operator" });
    expect((await audit(dashboard))[0]).toMatchObject({ action: "mute", object: key, reason: "known" });
    dashboard.zookeeper.findingList = [];
    const past = async (): Promise<FindingRow[]> =>
      (await dashboard.app.inject({ url: "/api/v1/findings", headers: as("viewer") })).json().past;
    await soon(async () => (await past()).length).toBe(1);
  });

  it("a mute is still there after a restart, where an audit is kept", async () => {
    const file = join(directory, "audit.jsonl");
    const finding = { id: "f", kind: "long-hold", severity: "warning", object: key } as const;
    const muted = async (mute: boolean): Promise<FindingRow["muted"]> => {
      await using dashboard = await staged({ audit: { file } });
      dashboard.zookeeper.findingList = [{ ...finding, sinceMs: 1, evidence: "held", advice: "look" }];
      const rows = async (): Promise<FindingRow[]> =>
        (await dashboard.app.inject({ url: "/api/v1/findings", headers: as("viewer") })).json().rows;
      await soon(async () => (await rows()).length).toBe(1);
      const [row] = await rows();
      if (mute)
        await dashboard.app.inject({
          method: "POST",
          url: `/api/v1/findings/${row?.id}/mute`,
          headers: await changing(dashboard.app, "operator"),
          payload: { reason: "known", forMs: 60_000 },
        });
      return (await rows())[0]?.muted ?? null;
    };
    expect(await muted(true)).toMatchObject({ reason: "known", by: "the operator" });
    expect(await muted(false)).toMatchObject({ reason: "known", by: "the operator" });
  });

  it("what cannot be written down is not muted", async () => {
    await using dashboard = await staged({ audit: { file: join(directory, "audit.jsonl") } });
    dashboard.zookeeper.findingList = [
      { id: "f", kind: "long-hold", severity: "info", object: key, sinceMs: 1, evidence: "", advice: "" },
    ];
    const rows = async (): Promise<FindingRow[]> =>
      (await dashboard.app.inject({ url: "/api/v1/findings", headers: as("viewer") })).json().rows;
    await soon(async () => (await rows()).length).toBe(1);
    await mkdir(join(directory, "audit.jsonl.mutes.new"));
    const answer = await dashboard.app.inject({
      method: "POST",
      url: `/api/v1/findings/${(await rows())[0]?.id}/mute`,
      headers: await changing(dashboard.app, "operator"),
      payload: { reason: "known", forMs: 60_000 },
    });
    expect([answer.statusCode, answer.json().error]).toEqual([503, "mutes-unavailable"]);
    expect((await rows())[0]?.muted).toBeNull();
  });
});
