export { alone, apart, bridge, type Cut, type Party, ring, split } from "./cuts.js";
export { allowedNamespaces, enterNamespaces } from "./enter.js";
export { insideNamespaces, type NamespaceKind, settleInside } from "./inside.js";
export { createSwitch, NetworkSwitch, type SwitchOptions } from "./switch.js";
