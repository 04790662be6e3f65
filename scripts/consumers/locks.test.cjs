// The same from a CommonJS test. Before Node.js 24.9 jest cannot require() an ES module, and can import() one only with
// --experimental-vm-modules.
describe("a service under test, in CommonJS", () => {
  it("holds a lock", async () => {
    const { memoryLocks } = await import("@holdfast/core");
    const lock = await memoryLocks().mutex("orders/17").acquire({ waitMs: 1_000 });
    expect(lock.state).toBe("held");
  });
});
