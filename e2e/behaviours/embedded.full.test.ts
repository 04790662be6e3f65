import { behaviours } from "./list.js";
import { Site } from "./site.js";

behaviours("the embedded server", Site.embedded());
