// Is loaded into the lock client by `node --import`. SIGWINCH then blocks its event loop for 5 s.
if (process.argv[2] === "run") {
  process.on("SIGWINCH", () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_000);
  });
}
