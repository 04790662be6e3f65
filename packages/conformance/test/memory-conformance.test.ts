import {
  mutexConformance,
  readWriteLockConformance,
  reentrantMutexConformance,
  reentrantReadWriteLockConformance,
} from "@holdfast/conformance";
import { memoryFixture } from "./memory-fixture.js";
import { memoryWorlds } from "./memory-worlds.js";

for (const { name, fixture } of memoryWorlds(memoryFixture)) {
  mutexConformance(name, fixture);
  reentrantMutexConformance(name, fixture);
  readWriteLockConformance(name, fixture);
  reentrantReadWriteLockConformance(name, fixture);
}
