import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import type { ZooKeeperLocksOptions } from "@holdfast/zk-recipes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connected } from "../../support/providers.js";
import { Operator, withoutGuid } from "./operator.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper();
});
afterAll(() => server.stop());

describe("where a lock lands", () => {
  it.each<[ZooKeeperLocksOptions & { chroot?: string }, string, string]>([
    [{}, "/plain/lock", "/plain/lock"],
    [{}, "orders/42", "/holdfast/orders%2F42"],
    [{ root: "/locks/of/ours" }, "orders/42", "/locks/of/ours/orders%2F42"],
    [{ root: "/" }, "at-the-top", "/at-the-top"],
    [{ namespace: "team" }, "/plain/lock", "/team/plain/lock"],
    [{ namespace: "/team/two" }, "orders/42", "/team/two/holdfast/orders%2F42"],
    [{ chroot: "/app" }, "/plain/lock", "/app/plain/lock"],
    [{ chroot: "/app" }, "orders/42", "/app/holdfast/orders%2F42"],
    [{ chroot: "/app/", namespace: "team", root: "/r" }, "/plain/lock", "/app/team/plain/lock"],
    [{ chroot: "/app", namespace: "team", root: "/r" }, "a/b", "/app/team/r/a%2Fb"],
    [{}, "50%", "/holdfast/50%25"],
    [{}, "..", "/holdfast/%2E%2E"],
    [{}, ".hidden.txt", "/holdfast/%2Ehidden.txt"],
    [{}, "Größe/日本 \u{1f512}", "/holdfast/Größe%2F日本 %F0%9F%94%92"],
    [{}, "tab\tnew\nline\u007f\u0085", "/holdfast/tab%09new%0Aline%7F%C2%85"],
  ])("with %j, the lock %j is at %s", async ({ chroot = "", ...options }, name, path) => {
    const operator = await Operator.connect(server.connectString);
    if (chroot !== "" && !(await operator.exists("/app"))) await operator.create("/app");
    if (chroot.endsWith("/")) chroot = chroot.slice(0, -1);
    const locks = await connected(server.connectString + chroot, options);
    const handle = await locks.mutex(name).acquire();
    const node = await operator.onlyChild(path);
    expect(withoutGuid(node)).toMatch(/^lock-\d{10}$/);
    expect((await operator.read(node)).stat.czxid).toBe(handle.token);
    const snapshot = await locks.mutex(name).inspect();
    expect(snapshot.name).toBe(name);
    expect(snapshot.held[0]?.backendId).toBe(node);
    expect(await handle.release()).toBe("released");
    expect(await operator.children(path)).toEqual([]);
  });

  it("never is the same for two names", async () => {
    const locks = await connected(server.connectString);
    const names = ["a/b", "a%2Fb", "a%252Fb", "/holdfast/a", "a"];
    const taken = await Promise.all(names.map((name) => locks.mutex(name).tryAcquire()));
    // The last two names are one lock: the relative name `a` stands for the path `/holdfast/a`.
    expect(taken.map((handle) => handle !== null)).toEqual([true, true, true, true, false]);
  });
});
