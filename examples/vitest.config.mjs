// Without this file vitest would find the configuration of the repository above this folder.
export default { test: { include: ["*.test.mjs"] } };
