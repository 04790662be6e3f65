import { componentNames } from "../install/ensure.js";

export const usage: string = `Usage:
  holdfast-servers ensure [--only ${componentNames.join(",")}]
      Looks for what the tests need and installs what is missing, where this machine allows it (root on Debian or
      Ubuntu). Elsewhere it prints what to do and exits with 1. Says nothing when all is there.

  holdfast-servers zookeeper [--nodes N] [--port P]
      Runs one real ZooKeeper server, or an ensemble of N, on 127.0.0.1 until ctrl-C, with its data in a temporary
      folder. P is the client port of the first server, the others follow; default: fresh ports.

  --help prints this.
`;
