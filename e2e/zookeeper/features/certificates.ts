import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findJava } from "@holdfast/test-servers";
import { run } from "../../support/process/run.js";

/** A key pair and its self-signed certificate. */
export interface Certificate {
  /** PKCS #12. */
  readonly pfx: Buffer;
  readonly passphrase: string;
  /** The certificate alone, as PEM, for a peer that has to trust it. */
  readonly pem: string;
}

const passphrase = "only-for-this-test";
const withinMs = 30_000;

/** Makes a new one with the keytool of the Java that runs the servers. An example of `san`: `dns:localhost,ip:127.0.0.1`. */
export async function makeCertificate(name: string, san: string): Promise<Certificate> {
  const keytool = join(dirname(findJava() ?? "java"), "keytool");
  const folder = await mkdtemp(join(tmpdir(), "holdfast-tls-"));
  try {
    const store = join(folder, "store.p12");
    const shared = ["-alias", "it", "-keystore", store, "-storetype", "PKCS12", "-storepass", passphrase];
    const about = ["-dname", `CN=${name}`, "-ext", `san=${san}`, "-validity", "2"];
    await run(keytool, ["-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", ...about, ...shared], {
      withinMs,
    });
    const pem = join(folder, "it.pem");
    await run(keytool, ["-exportcert", "-rfc", "-file", pem, ...shared], { withinMs });
    return { pfx: await readFile(store), passphrase, pem: await readFile(pem, "utf8") };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
