import { type EmbeddedZooKeeper, eventually, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { zookeeperLocks } from "../../src/index.js";
import { SessionContext } from "../../src/recipes/session-context.js";

let server: EmbeddedZooKeeper;
const path = "/barriers/rounds";
const waitMs = 10_000;

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
});

async function barriers(count: number, parties: number) {
  const made = Array.from({ length: count }, async () => {
    const provider = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 20_000 });
    onTestFinished(async () => void (await provider.close({ releaseTimeoutMs: 500 })));
    await provider.ready();
    return provider.doubleBarrier(path, parties);
  });
  return await Promise.all(made);
}

const deletesOfReady = () =>
  server.faults.on(
    { op: "delete", path: `${path}/ready`, times: Number.POSITIVE_INFINITY },
    { do: "run", call: () => {} },
  );

test("of the members that leave a double barrier together one deletes the ready node, once", async () => {
  const round = await Promise.all((await barriers(3, 3)).map((each) => each.enter({ waitMs })));
  const deletes = deletesOfReady();
  await Promise.all(round.map((member) => member.leave({ waitMs })));
  expect(server.operator.getChildren(path)).toEqual([]);
  expect(deletes.hits).toHaveLength(1);
});

test("the delete of a ready node whose answer was lost is not sent again, where it could take that of the next round", async () => {
  const [barrier] = await barriers(1, 1);
  const member = await barrier?.enter({ waitMs });
  server.faults.on({ op: "delete", path: `${path}/ready` }, { do: "close" });
  const deletes = deletesOfReady();
  await member?.leave({ waitMs });
  expect(server.operator.getChildren(path)).toEqual(["ready"]);
  expect(deletes.hits).toHaveLength(0);
  // The next full round replaces the ready node that is left.
  await (await barrier?.enter({ waitMs }))?.leave({ waitMs });
  expect(server.operator.getChildren(path)).toEqual([]);
});

test.each(["before", "while"])(
  "a member whose session ends %s it leaves a double barrier is lost with it, also before its turn to be told has come",
  async (when) => {
    // A session with very many listeners of its end calls some of them in a later turn. Here it calls none.
    vi.spyOn(SessionContext.prototype, "whenOver").mockReturnValue(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const [barrier] = await barriers(1, 1);
    const member = await barrier?.enter({ waitMs });
    const [first] = server.sessions();
    if (when === "while") server.faults.on({ op: "getChildren2", path }, { do: "expire" });
    else {
      server.expireSession(first?.id ?? 0n);
      await eventually(() => server.sessions().some(({ id }) => id !== first?.id), {
        what: "the next session",
      });
    }
    await expect(member?.leave({ waitMs })).rejects.toMatchObject({ reason: "session-expired" });
    expect(member?.lost.aborted).toBe(true);
  },
);
