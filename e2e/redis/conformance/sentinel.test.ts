import { sentinels } from "./servers.js";
import { conformanceOn } from "./suites.js";

conformanceOn("behind sentinels", sentinels, 0.03);
