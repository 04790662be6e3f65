import type { LockHandle, Mutex } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { eventually } from "@holdfast/test-servers";
import { describe, expect, it } from "vitest";
import type { Operator } from "../../zookeeper/features/operator.js";
import { type Client, childCount, type Site } from "../site.js";

type Three<T> = readonly [T, T, T];

/** The paths of the parts, in the order in which they are taken. */
async function threePaths(site: Site, operator: Operator): Promise<Three<string>> {
  const path = await site.madePath(operator);
  const paths = [`${path}/a`, `${path}/b`, `${path}/c`] as const;
  for (const each of paths) await operator.create(each);
  return paths;
}

function mutexes({ locks }: Client, paths: Three<string>): Three<Mutex> {
  return paths.map((path) => locks.mutex(path)) as unknown as Three<Mutex>;
}

/** The `release-failed` events of this client from now on. The array grows as they arrive. */
function failedReleases({ locks }: Client): { name: string; reason: string }[] {
  const seen: { name: string; reason: string }[] = [];
  locks.events.on("release-failed", ({ name, reason }) => seen.push({ name, reason }));
  return seen;
}

async function free(client: Client, path: string): Promise<void> {
  const handle = await client.locks.mutex(path).tryAcquire();
  expect(await handle?.release(), path).toBe("released");
}

export function multiLockRows(site: Site): void {
  it.each([0, 1, 2] as const)(
    "13: releases the other parts when the release of part %i is refused, and says so",
    async (refused) => {
      const [client, other] = [await site.client(), await site.client()];
      const operator = await site.operator();
      const paths = await threePaths(site, operator);
      const handle = await multiLock(mutexes(client, paths)).acquire();
      const failed = failedReleases(client);
      const released: string[] = [];
      client.locks.events.on("released", ({ name, outcome }) => {
        if (outcome === "released") released.push(name);
      });
      const fault = client.link.faults.on(
        { op: "delete", path: new RegExp(`^${paths[refused]}/`), times: Number.POSITIVE_INFINITY },
        { do: "answer", err: "NoAuth" },
      );
      const error = await handle.release().catch((failure: unknown) => failure);
      expect(error).toMatchObject({ code: "HF_BACKEND", retryable: false });
      expect((error as Error).message).toContain(`releasing ${paths[refused]}`);
      expect(failed).toEqual([{ name: paths[refused], reason: "refused" }]);
      const rest = paths.filter((_, i) => i !== refused);
      expect(released).toEqual([...rest].reverse());
      for (const path of rest) await free(other, path);
      expect(await operator.children(paths[refused])).toHaveLength(1);
      expect(await other.locks.mutex(paths[refused]).tryAcquire()).toBeNull();
      fault.release();
    },
  );

  describe("the multi lock", () => {
    it("14: leaves nothing when one of the parts that are asked for together is refused", async () => {
      const client = await site.client();
      const operator = await site.operator();
      const paths = await threePaths(site, operator);
      const refused = client.link.faults.on(
        { op: "getChildren2", path: paths[1] },
        { do: "answer", err: "NoAuth" },
      );
      const acquiring = multiLock(mutexes(client, paths)).acquire({ waitMs: 10_000 });
      await expect(acquiring).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
      expect(refused.hits).toHaveLength(1);
      for (const path of paths) expect(await operator.children(path), path).toEqual([]);
    });

    it("14: gives back what it has, the last part first, when it fails while it waits for the next", async () => {
      const { client, operator, paths, acquiring, holder } = await waitingForTheLast();
      const released: string[] = [];
      client.locks.events.on("released", ({ name }) => released.push(name));
      await operator.delete(await lastIn(operator, paths[2]));
      await expect(acquiring).rejects.toMatchObject({ code: "HF_EVICTED", lockName: paths[2] });
      expect(released).toEqual([paths[1], paths[0]]);
      for (const path of paths.slice(0, 2)) expect(await operator.children(path), path).toEqual([]);
      expect(await operator.children(paths[2])).toHaveLength(1);
      expect(await holder.release()).toBe("released");
    });

    it("14: rejects with the first error when giving back fails as well, and gives back the rest", async () => {
      const { client, operator, paths, acquiring, holder } = await waitingForTheLast();
      const failed = failedReleases(client);
      const fault = client.link.faults.on(
        { op: "delete", path: new RegExp(`^${paths[1]}/`), times: Number.POSITIVE_INFINITY },
        { do: "answer", err: "NoAuth" },
      );
      await operator.delete(await lastIn(operator, paths[2]));
      await expect(acquiring).rejects.toMatchObject({ code: "HF_EVICTED", lockName: paths[2] });
      expect(failed).toEqual([{ name: paths[1], reason: "refused" }]);
      expect(await operator.children(paths[0])).toEqual([]);
      expect(await operator.children(paths[1])).toHaveLength(1);
      fault.release();
      expect(await holder.release()).toBe("released");
    });
  });

  interface Waiting {
    readonly client: Client;
    readonly operator: Operator;
    readonly paths: Three<string>;
    readonly acquiring: Promise<unknown>;
    readonly holder: LockHandle;
  }

  /** A multi-lock acquire that holds its first two parts and waits for the third, which another client holds. */
  async function waitingForTheLast(): Promise<Waiting> {
    const [client, other] = [await site.client(), await site.client()];
    const operator = await site.operator();
    const paths = await threePaths(site, operator);
    const holder = await other.locks.mutex(paths[2]).acquire();
    const acquiring = multiLock(mutexes(client, paths)).acquire({ waitMs: 20_000 });
    acquiring.catch(() => {}); // the test that awaits it gets the error
    await eventually(() => client.locks.holds().length === 2, { what: "the first two parts to be held" });
    await childCount(operator, paths[2], 2);
    return { client, operator, paths, acquiring, holder };
  }
}

/** The path of the node with the highest number. */
async function lastIn(operator: Operator, path: string): Promise<string> {
  const children = await operator.children(path);
  const number = (name: string) => Number(name.slice(-10));
  return `${path}/${children.sort((a, b) => number(a) - number(b)).at(-1)}`;
}
