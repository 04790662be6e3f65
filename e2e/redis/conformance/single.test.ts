import { single } from "./servers.js";
import { conformanceOn } from "./suites.js";

conformanceOn("one server", single, 0.08);
