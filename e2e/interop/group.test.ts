import { LayoutConflictError } from "@holdfast/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CuratorGroupMember } from "../support/curator/java-group.js";
import { type CuratorClient, curatorVersionsInShare } from "../support/curator/java-peer.js";
import { InteropFixture } from "./fixture.js";
import { shape } from "./shape.js";

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const text = (data: Uint8Array): string => Buffer.from(data).toString();

describe.each(await curatorVersionsInShare())("a group shared with Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  async function seenBy(member: CuratorGroupMember): Promise<string[]> {
    return [...(await member.members())].map(([id, data]) => `${id}=${text(data)}`).sort();
  }

  it("shows members of both kinds to both, as they come and go", async () => {
    const path = "/group/together";
    const theirs = await client.groupMember(path, "theirs", bytes("1"));
    await theirs.start();
    const group = (await fixture.ours()).groupMembership(path);
    const end = new AbortController();
    const seen = group.observe({ signal: end.signal })[Symbol.asyncIterator]();
    const next = async (): Promise<string[]> => {
      const { value } = await seen.next();
      return (value as { id: string; data: Uint8Array }[]).map(({ id, data }) => `${id}=${text(data)}`);
    };
    await expect.poll(async () => (await group.members()).length).toBe(1);
    expect(await next()).toEqual(["theirs=1"]);
    const ours = await group.join("ours", bytes("2"));
    expect(await next()).toEqual(["ours=2", "theirs=1"]);
    await expect.poll(() => seenBy(theirs)).toEqual(["ours=2", "theirs=1"]);
    await theirs.setData(bytes("3"));
    expect(await next()).toEqual(["ours=2", "theirs=3"]);
    await ours[Symbol.asyncDispose]();
    expect(await next()).toEqual(["theirs=3"]);
    await expect.poll(() => seenBy(theirs)).toEqual(["theirs=3"]);
    await theirs.close();
    expect(await next()).toEqual([]);
    end.abort();
  });

  it("ours refuses an id that a member of Curator has", async () => {
    const path = "/group/same-id";
    const theirs = await client.groupMember(path, "one", bytes("theirs"));
    await theirs.start();
    const group = (await fixture.ours()).groupMembership(path);
    await expect.poll(async () => (await group.members()).length).toBe(1);
    await expect(group.join("one", bytes("ours"))).rejects.toBeInstanceOf(LayoutConflictError);
    expect((await group.members()).map(({ data }) => text(data))).toEqual(["theirs"]);
    await theirs.close();
    await expect.poll(async () => (await group.members()).length).toBe(0);
    await using ours = await group.join("one", bytes("ours"));
    expect(ours).toBeDefined();
    expect((await group.members()).map(({ data }) => text(data))).toEqual(["ours"]);
  });

  it("ours sees the member go whose session is ended, and come back with the new one", async () => {
    const path = "/group/session";
    const victim = await fixture.curator();
    const theirs = await victim.groupMember(path, "theirs", bytes("1"));
    await theirs.start();
    const group = (await fixture.ours()).groupMembership(path);
    const [before] = await expect
      .poll(() => client.dump(`${path}/theirs`))
      .toHaveLength(1)
      .then(() => client.dump(`${path}/theirs`));
    await fixture.expire(await victim.session());
    const sessionOf = async (): Promise<bigint | undefined> =>
      (await client.dump(path)).find((node) => node.path.endsWith("/theirs"))?.ephemeralOwner;
    await expect
      .poll(async () => ![before?.ephemeralOwner, undefined].includes(await sessionOf()), { timeout: 20_000 })
      .toBe(true);
    expect((await group.members()).map(({ id }) => id)).toEqual(["theirs"]);
    await theirs.close();
  });

  it("makes the same tree", async () => {
    const theirs = await client.groupMember("/group-curator/tree", "one", bytes("data"));
    await theirs.start();
    await expect.poll(() => seenBy(theirs)).toEqual(["one=data"]);
    const locks = await fixture.ours();
    await using ours = await locks.groupMembership("/group-ours/tree").join("one", bytes("data"));
    expect(ours).toBeDefined();
    const exactly = { data: true };
    const inTree = async (root: string): Promise<string[]> => shape(await client.dump(root), root, exactly);
    await expect.poll(() => inTree("/group-curator")).toHaveLength(3);
    expect(await inTree("/group-ours")).toEqual(await inTree("/group-curator"));
    expect(await inTree("/group-ours")).toEqual([
      ' lasting - 31:world:anyone ""',
      '/tree lasting - 31:world:anyone ""',
      '/tree/one ephemeral session 1 31:world:anyone "data"',
    ]);
    await theirs.close();
  });
});
