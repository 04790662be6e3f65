import { componentNames } from "../install/ensure.js";

export const usage: string = `Usage:
  holdfast-servers ensure [--only ${componentNames.join(",")}]
      Looks for what the tests need and installs what is missing, where this machine allows it (root on Debian or
      Ubuntu). Elsewhere it prints what to do and exits with 1. Says nothing when all is there.

  holdfast-servers zookeeper [--nodes N] [--port P]
      Runs one real ZooKeeper server, or an ensemble of N, on 127.0.0.1 until ctrl-C, with its data in a temporary
      folder. P is the client port of the first server, the others follow; default: fresh ports.

  holdfast-servers redis [--kind single|sentinel|cluster] [--port P]
      Runs one real Redis server (on port P; default: a fresh one), a master with two replicas and three Sentinels, or
      a cluster of three masters with a replica each, on 127.0.0.1 until ctrl-C, with their data in temporary folders.

  --help prints this.
`;
