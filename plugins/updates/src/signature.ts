import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { updateErrors } from './errors.ts'
import { CHECKSUMS } from './release.ts'

/** File with the Ed25519 signature of `checksums.txt`, in base64. */
export const SIGNATURE = `${CHECKSUMS}.sig`

/** Accepts a raw Ed25519 public key: 32 bytes as 64 hexadecimal digits or in base64. */
export const PUBLIC_KEY = '^(?:[0-9a-fA-F]{64}|[A-Za-z0-9+/]{43}=)$'

/** Beginning of the DER encoding of each Ed25519 public key. */
const DER_HEAD = Buffer.from('302a300506032b6570032100', 'hex')
const SIGNATURE_BYTES = 64

/** Returns the content of the signature file. Throws if the key is not an Ed25519 private key. */
export function signatureOf(checksums: string, privateKey: KeyObject): string {
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new TypeError('the key is not an Ed25519 private key')
  return `${sign(null, Buffer.from(checksums), privateKey).toString('base64')}\n`
}

/** Returns the public key of a private key, in base64. */
export function publicKeyOf(privateKey: KeyObject): string {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return der.subarray(DER_HEAD.length).toString('base64')
}

/**
 * Throws `UPD_SIGNATURE` unless the signature is that of the key. The names of archives contain the tag, so that the list of
 * another release does not pass for this one. `signature`: null for a release without a signature file.
 */
export function assertSigned(checksums: string, signature: string | null, publicKey: string, tag: string): void {
  if (signature === null) throw refused(tag, `it has no ${SIGNATURE}, but plugins.updates.public_key is set`)
  const bytes = Buffer.from(signature.trim(), 'base64')
  const raw = Buffer.from(publicKey, publicKey.length === 64 ? 'hex' : 'base64')
  if (bytes.length !== SIGNATURE_BYTES || !verify(null, Buffer.from(checksums), keyOf(raw), bytes))
    throw refused(tag, `${SIGNATURE} is not a signature of its ${CHECKSUMS} by the key plugins.updates.public_key`)
}

function keyOf(raw: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([DER_HEAD, raw]), format: 'der', type: 'spki' })
}

function refused(tag: string, why: string) {
  return updateErrors.create('UPD_SIGNATURE', `the release ${tag} is refused: ${why}`, {
    hint: 'nothing was installed; ask the publisher for the right key, or remove the setting to trust checksums only'
  })
}
