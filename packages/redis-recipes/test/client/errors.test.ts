import { BackendError } from "@holdfast/core";
import { expect, test } from "vitest";
import { NotSentError, OutcomeUnknownError, ReplyError, redirection } from "../../src/client/errors.js";
import { parseServerInfo } from "../../src/client/server-info.js";

const servers = ["h:1"];

test.each([
  ["MOVED 3999 127.0.0.1:6381", "moved", true],
  ["ASK 3999 127.0.0.1:6381", "ask", true],
  ["TRYAGAIN Multiple keys request during rehashing of slot", "try-again", true],
  ["CLUSTERDOWN The cluster is down", "busy", true],
  ["READONLY You can't write against a read only replica.", "not-master", true],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "not-master", true],
  ["LOADING Redis is loading the dataset in memory", "busy", true],
  ["BUSY Redis is busy running a script.", "busy", true],
  ["NOREPLICAS Not enough good replicas to write.", "busy", true],
  ["MISCONF Redis is configured to save RDB snapshots", "busy", true],
  ["OOM command not allowed when used memory > 'maxmemory'.", "busy", true],
  ["ERR max number of clients reached", "busy", true],
  ["NOSCRIPT No matching script. Please use EVAL.", "no-script", false],
  ["NOAUTH Authentication required.", "denied", false],
  ["NOPERM this user has no permissions", "denied", false],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "other", false],
  ["CROSSSLOT Keys in request don't hash to the same slot", "other", false],
  ["ERR something", "other", false],
])("takes %s as %s", (reply, kind, retryable) => {
  const error = new ReplyError(reply, { servers });
  expect(error).toMatchObject({ kind, retryable, reply, servers, backend: "redis" });
  expect(error).toBeInstanceOf(BackendError);
});

test("a request that was not sent has another error than one whose outcome is unknown", () => {
  const notSent = new NotSentError("down", { servers });
  const unknown = new OutcomeUnknownError("cut", { servers });
  expect(notSent).toBeInstanceOf(BackendError);
  expect(unknown).toBeInstanceOf(BackendError);
  expect(notSent).not.toBeInstanceOf(OutcomeUnknownError);
  expect([notSent.retryable, unknown.retryable]).toEqual([true, true]);
  expect([notSent.name, unknown.name]).toEqual(["NotSentError", "OutcomeUnknownError"]);
});

test.each([
  ["MOVED 1 10.0.0.1:7000", { host: "10.0.0.1", port: 7000 }],
  ["ASK 1 fd00::1:7000", { host: "fd00::1", port: 7000 }],
  ["MOVED 1 :7000", { host: "", port: 7000 }],
  ["MOVED 1", null],
  ["MOVED 1 nowhere", null],
])("reads where %s leads", (reply, address) => {
  expect(redirection(reply)).toEqual(address);
});

test.each(["redis_mode", "server_mode"])("knows a node of a cluster by the field %s", (field) => {
  const infoOf = (mode: string) => parseServerInfo(`run_id:abc\r\nrole:master\r\n${field}:${mode}\r\n`);
  expect(infoOf("cluster")).toMatchObject({ clustered: true });
  expect(infoOf("standalone")).toMatchObject({ clustered: false });
});

test("counts replicas that are in step, not those that are still copying", () => {
  const info = parseServerInfo(
    "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nserver_time_usec:1700000000123456\r\n",
    "role:master\r\nconnected_slaves:2\r\nslave0:ip=1,port=2,state=online,offset=3\r\nslave1:ip=1,port=3,state=wait_bgsave,offset=0\r\n",
    "maxmemory_policy:noeviction\r\n",
  );
  expect(info).toEqual({
    runId: "abc",
    role: "master",
    clustered: false,
    connectedReplicas: 1,
    loading: false,
    version: "7.0.15",
    evictionPolicy: "noeviction",
    serverMs: 1_700_000_000_123.456,
  });
  expect(parseServerInfo("role:master", undefined)).toBeNull();
});
