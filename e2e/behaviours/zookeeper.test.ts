import { behaviours } from "./list.js";
import { Site } from "./site.js";

behaviours("the real server", Site.real());
