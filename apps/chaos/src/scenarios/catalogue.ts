import type { Scenario } from "../engine/scenario.js";
import { javaScenarios } from "./java.js";
import { keptScenarios } from "./kept.js";
import { machineScenarios } from "./machine.js";
import { momentScenarios } from "./moments.js";
import { networkScenarios } from "./network.js";
import { randomScenarios } from "./random.js";
import { redisScenarios } from "./redis.js";
import { mastersScenarios } from "./redis-masters.js";
import { replicatedScenarios } from "./redis-replicated.js";
import { safeScenarios } from "./redis-safe.js";
import { selfTestScenarios } from "./self-test.js";
import { zookeeperScenarios } from "./zookeeper.js";
import { ensembleScenarios } from "./zookeeper-ensemble.js";

/** All scenarios. Those of one backend are together. */
export const catalogue: readonly Scenario[] = [
  ...selfTestScenarios,
  ...zookeeperScenarios,
  ...ensembleScenarios,
  ...redisScenarios,
  ...replicatedScenarios,
  ...safeScenarios,
  ...mastersScenarios,
  ...networkScenarios,
  ...machineScenarios,
  ...javaScenarios,
  ...momentScenarios,
  ...keptScenarios,
  ...randomScenarios,
];
