// A CommonJS service: jest translates our packages to CommonJS for its tests.
const { memoryLocks } = require("@holdfast/core");

describe("a CommonJS service under test", () => {
  it("holds a lock", async () => {
    const lock = await memoryLocks().mutex("orders/17").acquire({ waitMs: 1_000 });
    expect(lock.state).toBe("held");
  });
});
