import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A key and its self-signed certificate for 127.0.0.1 and localhost, good for two days. All is PEM. */
export interface RedisCertificate {
  /** What clients need in order to trust the server: `ca` in the options of `node:tls`. */
  readonly certificate: string;
  /** The private key of the server. */
  readonly key: string;
}

const dayMs = 86_400_000;

/** Makes a new key and certificate with each call, without any external program. */
export function makeRedisCertificate(): RedisCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicInfo = publicKey.export({ type: "spki", format: "der" });
  const algorithm = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)); // ecdsa-with-SHA256
  const commonName = sequence(objectId(0x55, 0x04, 0x03), der(0x0c, Buffer.from("holdfast test server")));
  const name = sequence(der(0x31, commonName));
  const serial = randomBytes(16);
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f); // positive, and no leading zero
  const nowMs = Date.now();
  const keyId = createHash("sha1").update(publicInfo).digest();
  const extensions = sequence(
    extension([0x55, 0x1d, 0x13], sequence(der(0x01, Buffer.from([0xff])))), // it is its own authority
    extension(
      [0x55, 0x1d, 0x11],
      sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1]))),
    ),
    extension([0x55, 0x1d, 0x0e], der(0x04, keyId)),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, serial),
    algorithm,
    name,
    sequence(time(nowMs - dayMs), time(nowMs + 2 * dayMs)),
    name,
    publicInfo,
    der(0xa3, extensions),
  );
  const signature = sign("sha256", body, privateKey);
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    certificate: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Tag, length, content: the encoding in which certificates are written. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(...bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function extension(id: readonly number[], content: Buffer): Buffer {
  return sequence(objectId(...id), der(0x04, content));
}

/** The form with two digits for the year, which certificates use until 2049. */
function time(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replace(/[-:T]|\.\d+/g, "");
  return der(0x17, Buffer.from(text.slice(2)));
}
