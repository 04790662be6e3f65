import { formatSessionId } from "@holdfast/zk-protocol";
import { expect } from "vitest";
import { fourLetterWord } from "../../../src/index.js";
import { create, createOf, ephemeral, ok } from "../support/requests.js";
import type { Item } from "./trial.js";

export const ordering: readonly Item[] = [
  {
    number: 67,
    title: "a read behind a write in one segment shows it",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const list = ["getChildren", { path: home, watch: false }] as const;
      const replies = await Promise.all(
        wire.askAll(["create", createOf(`${home}/a`)], list, ["create", createOf(`${home}/b`)], list),
      );
      const [first, , third] = replies.map(({ zxid }) => zxid);
      expect(replies.map(({ zxid }) => zxid)).toEqual([first, first, third, third]);
      expect(replies[1]?.response).toEqual({ children: ["a"] });
      const last = replies[3]?.response as { children: string[] };
      expect([...last.children].sort()).toEqual(["a", "b"]);
    },
  },
  {
    number: 68,
    title: "3,000 creates written at once are answered in order",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const request = ["create", createOf(`${home}/s-`, { flags: 3 })] as const;
      const replies = await Promise.all(wire.askAll(...Array.from({ length: 3_000 }, () => request)));
      const numbers = replies.map(({ response }) => Number((response as { path: string }).path.slice(-10)));
      expect(numbers).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
    },
  },
  {
    number: 69,
    title: "no reply shows a change before its event",
    async run(trial) {
      const wire = await trial.open();
      const writer = await trial.open();
      const home = await trial.home(writer);
      for (let run = 0; run < 300; run++) {
        await ok(wire.ask("getChildren", { path: home, watch: true }));
        const written = create(writer, `${home}/n${run}`);
        for (let shown = false; !shown; ) {
          const { children } = await ok(wire.ask("getChildren", { path: home, watch: false }));
          shown = children.includes(`n${run}`);
        }
        expect(wire.events.length).toBe(run + 1);
        await written;
      }
    },
  },
  {
    number: 70,
    title: "without a whitelist only srvr is answered, other words are refused, and no word gets nothing",
    async run(trial) {
      const { stock } = trial.target;
      expect(await fourLetterWord("srvr", stock)).toMatch(
        /^Zookeeper version: 3\.8\.0[\s\S]*\nMode: standalone\nNode count: \d+\n/,
      );
      for (const word of ["ruok", "stat", "mntr", "cons", "dump", "isro", "wchs", "wchp"]) {
        const refusal = `${word} is not executed because it is not in the whitelist.\n`;
        expect(await fourLetterWord(word, stock)).toBe(refusal);
      }
      const socket = trial.raw(stock);
      socket.write(Buffer.from("what"));
      await socket.closed();
      expect(socket.bytes).toBe(0);
      expect(await fourLetterWord("ruok", trial.target)).toBe("imok");
    },
  },
  {
    number: 71,
    title: "dump lists ephemerals by session, wchp the watches on data but not those on children",
    async run(trial) {
      const wire = await trial.open();
      const home = await trial.home(wire);
      const id = formatSessionId(wire.session.sessionId);
      await create(wire, `${home}/e`, ephemeral);
      await create(wire, `${home}/d`);
      await ok(wire.ask("getData", { path: `${home}/e`, watch: true }));
      await ok(wire.ask("exists", { path: `${home}/d`, watch: true }));
      await ok(wire.ask("getChildren", { path: home, watch: true }));
      expect(await fourLetterWord("dump", trial.target)).toContain(`\n${id}:\n\t${home}/e\n`);
      const watches = await fourLetterWord("wchp", trial.target);
      expect(watches).toContain(`${home}/e\n\t${id}\n`);
      expect(watches).toContain(`${home}/d\n\t${id}\n`);
      expect(watches).not.toContain(`${home}\n`);
      // ZooKeeper itself forgets the watches of a closed session a moment after it has answered the close.
      await expect
        .poll(() => fourLetterWord("wchs", trial.target))
        .toMatch(/^1 connections watching 2 paths\nTotal watches:2\n/);
      const lines = (await fourLetterWord("cons", trial.target))
        .split("\n")
        .filter((line) => line.includes(`sid=${id},`));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /^ \/127\.0\.0\.1:\d+\[\d+\]\(queued=\d+,recved=\d+,sent=\d+,sid=0x[0-9a-f]+,lop=GETC,est=\d+,to=5000,/,
      );
      expect(await fourLetterWord("mntr", trial.target)).toMatch(/^zk_ephemerals_count\t1$/m);
    },
  },
];
