import { simulatedRuntime } from "@holdfast/core/testing";
import { multiLockAcrossConformance, multiLockConformance } from "./kit/conformance.js";
import { type Together, worldFixture } from "./world.js";

const seeds = [1, 20_061, 3_735_928_559];

for (const how of ["session", "theft"] as const) {
  for (const together of ["one by one", "all at once"] satisfies Together[]) {
    multiLockConformance(`memory, ${together}, ${how}`, async () => worldFixture({ how, together }));
    for (const seed of seeds) {
      multiLockConformance(`memory, ${together}, ${how}, seed ${seed}`, async () => {
        const runtime = simulatedRuntime(seed);
        const running = runtime.autoAdvance();
        return { ...worldFixture({ how, together, runtime }), close: async () => running[Symbol.dispose]() };
      });
    }
  }
  multiLockAcrossConformance(
    `two memories, ${how}`,
    async () => worldFixture({ how }),
    async () => worldFixture({ how }),
  );
}
