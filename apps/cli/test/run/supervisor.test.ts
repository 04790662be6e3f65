import { expect, test } from "vitest";
import type { ProcessGroup } from "../../src/run/process-group.js";
import { endRest } from "../../src/run/supervisor.js";

/** A group whose members end `endsAfterMs` after a SIGTERM, or at once by SIGKILL. `sent`: the signals that the group got. */
function groupOf(endsAfterMs: number): { readonly group: ProcessGroup; readonly sent: NodeJS.Signals[] } {
  const sent: NodeJS.Signals[] = [];
  let gone = false;
  let over = (): void => {};
  const ended = new Promise<void>((resolve) => {
    over = () => {
      gone = true;
      resolve();
    };
  });
  const signal = (name: NodeJS.Signals): void => {
    sent.push(name);
    if (name === "SIGKILL") over();
    else if (Number.isFinite(endsAfterMs)) setTimeout(over, endsAfterMs);
  };
  return { group: { id: 0, signal, gone: () => gone, untilGone: () => ended } as ProcessGroup, sent };
}

test("what a command leaves in its group gets SIGTERM once, as many programs drop their clean-up at a second one", async () => {
  const { group, sent } = groupOf(20);
  await endRest(group, 10_000);
  expect(sent).toEqual(["SIGTERM"]);
});

test("what a command leaves in its group and does not end by SIGTERM is killed", async () => {
  const { group, sent } = groupOf(Number.POSITIVE_INFINITY);
  await endRest(group, 20);
  expect(sent).toEqual(["SIGTERM", "SIGKILL"]);
});
