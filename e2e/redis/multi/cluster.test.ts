import { afterAll, beforeAll } from "vitest";
import { cluster, type Servers } from "../conformance/servers.js";
import { multiConformanceOn } from "./conformance.js";

let servers: Servers;

beforeAll(async () => {
  servers = await cluster();
}, 300_000);
afterAll(() => servers?.stop());

multiConformanceOn("in a cluster, keys of one slot", () => servers, 0.15);
