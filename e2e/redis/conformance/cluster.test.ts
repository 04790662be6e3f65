import { cluster } from "./servers.js";
import { conformanceOn } from "./suites.js";

conformanceOn("in a cluster", cluster, 0.03);
