import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { grantChannelPrefix, ourChannels, redissonChannels } from "../../src/layout/channels.js";
import {
  barrierKeys,
  doubleBarrierKeys,
  electionKeys,
  fairKeys,
  mutexKeys,
  permitKeys,
  readHoldKey,
  recordKeys,
  semaphoreKeys,
} from "../../src/layout/keys.js";
import { nodeIdentityKey } from "../../src/scripts/redlock/identity.js";

const name = "<name>";

/** Every key and channel that the layout derives, as the page writes them. */
const derived = [
  ...Object.values(mutexKeys(name)),
  ...Object.values(fairKeys(name)),
  ...Object.values(permitKeys(name)),
  `${semaphoreKeys(name).markerPrefix}<owner>`,
  readHoldKey(name, "<owner>").replace(/1$/, "<level>"),
  electionKeys(name).lock,
  electionKeys(name).labels,
  ...Object.values(barrierKeys(name)),
  ...Object.values(recordKeys(name)),
  ...Object.values(doubleBarrierKeys(name)),
  nodeIdentityKey,
  ...Object.values(redissonChannels).map((channel) => channel(name, "<owner>")),
  ...Object.values(ourChannels).map((channel) => channel(name)),
  `${grantChannelPrefix}<uuid>`,
];

test("the page of keys has each key and channel that is derived from a name, and no other of ours", async () => {
  const page = await readFile(new URL("../../docs/keys.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| [^|]+\| `([^`]+)`/gm)].map(([, key = ""]) => key);
  expect([...new Set(derived)].filter((key) => !rows.includes(key))).toEqual([]);
  expect(rows.filter((key) => !derived.includes(key))).toEqual([]);
});
