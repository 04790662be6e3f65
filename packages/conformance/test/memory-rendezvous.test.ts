import {
  barrierConformance,
  countDownLatchConformance,
  doubleBarrierConformance,
  recordConformance,
} from "@holdfast/conformance";
import { memoryFixture } from "./memory-fixture.js";
import { simulatedWorld } from "./memory-worlds.js";

const plain = async () => memoryFixture("session");
countDownLatchConformance("memory", plain);
barrierConformance("memory", plain);
doubleBarrierConformance("memory", plain);
recordConformance("memory", plain);

for (const seed of [1, 20_061]) {
  const simulated = async () => simulatedWorld(seed, (runtime) => memoryFixture("session", runtime));
  countDownLatchConformance(`memory, seed ${seed}`, simulated);
  barrierConformance(`memory, seed ${seed}`, simulated);
  doubleBarrierConformance(`memory, seed ${seed}`, simulated);
  recordConformance(`memory, seed ${seed}`, simulated);
}
