import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

// `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`, salt and hash in base64 without padding: the usual form of such texts.

interface Cost {
  /** The binary logarithm of N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

const usual: Cost = { ln: 15, r: 8, p: 1 };
const hashBytes = 32;
const form = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,86})\$([A-Za-z0-9+/]{43})$/;

/** Uses a new salt each time. Takes some 32 MB and 0.1 s, so that a stolen file is of little use. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, usual);
  return `$scrypt$ln=${usual.ln},r=${usual.r},p=${usual.p}$${plain(salt)}$${plain(hash)}`;
}

/** Whether `verifyPassword` can use this hash, at a cost that does not stop the server. */
export function isPasswordHash(text: string): boolean {
  return parse(text) !== null;
}

export async function verifyPassword(password: string, hashed: string): Promise<boolean> {
  const parsed = parse(hashed);
  if (parsed === null) return false;
  const hash = await derive(password, parsed.salt, parsed.cost);
  return timingSafeEqual(hash, parsed.hash);
}

/**
 * A hash that belongs to no user. It is checked for names that do not exist, so that the time of an answer does not
 * show which names exist.
 */
export const nobodysHash: string = `$scrypt$ln=${usual.ln},r=${usual.r},p=${usual.p}$${plain(randomBytes(16))}$${plain(randomBytes(hashBytes))}`;

function parse(text: string): { cost: Cost; salt: Buffer; hash: Buffer } | null {
  const [, ln, r, p, salt, hash] = form.exec(text) ?? [];
  if (salt === undefined || hash === undefined) return null;
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  if (cost.ln < 10 || cost.ln > 18 || cost.r < 1 || cost.r > 16 || cost.p < 1 || cost.p > 4) return null;
  return { cost, salt: Buffer.from(salt, "base64"), hash: Buffer.from(hash, "base64") };
}

function derive(password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> {
  const N = 2 ** ln;
  return new Promise((resolve, reject) => {
    // Composed and decomposed letters count as the same password, because keyboards differ in them.
    scrypt(password.normalize("NFC"), salt, hashBytes, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

function plain(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}
