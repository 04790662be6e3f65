import { memoryWorlds } from "../../conformance/test/memory-worlds.js";
import { multiLockAcrossConformance, multiLockConformance } from "./kit/conformance.js";
import { type Together, worldFixture } from "./world.js";

for (const together of ["one by one", "all at once"] satisfies Together[]) {
  const worlds = memoryWorlds((how, runtime) =>
    worldFixture({ how, together, ...(runtime === undefined ? {} : { runtime }) }),
  );
  for (const { name, fixture } of worlds) multiLockConformance(`${name}, ${together}`, fixture);
}

for (const how of ["session", "theft"] as const) {
  multiLockAcrossConformance(
    `two memories, ${how}`,
    async () => worldFixture({ how }),
    async () => worldFixture({ how }),
  );
}
