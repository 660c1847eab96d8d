import { ed25519 } from '@noble/curves/ed25519.js'
import { blake3 } from '@noble/hashes/blake3.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { meshErrors } from './errors.ts'
import { decodeBase64, parseMeshKey } from './keys.ts'

/** Fields of a signed message, for `a2a/deliver`. */
export interface ResultSignature {
  /** BLAKE3-256 of the payload in UTF-8, in lower-case hex. */
  readonly payload_blake3_hex: string
  /** Ed25519 signature over the 32 bytes of the digest, in standard base64. */
  readonly worker_ed25519_sig_b64: string
}

export type SignatureCheck = 'ok' | 'digest' | 'signature'

/** Signs a payload with a private key of 32 bytes. */
export function signResult(payload: string, privateKey: Uint8Array): ResultSignature {
  const digest = digestOf(payload)
  return {
    payload_blake3_hex: bytesToHex(digest),
    worker_ed25519_sig_b64: Buffer.from(ed25519.sign(digest, privateKey)).toString('base64')
  }
}

/**
 * Verifies a signed payload. `digest`: the digest is not that of the payload. `signature`: the signature is malformed,
 * or not of this key. Strict: points of small order and encodings that are not canonical are refused.
 */
export function verifyResult(payload: string, signed: ResultSignature, publicKey: Uint8Array): SignatureCheck {
  const digest = digestOf(payload)
  if (bytesToHex(digest) !== signed.payload_blake3_hex) return 'digest'
  const signature = decodeBase64(signed.worker_ed25519_sig_b64)
  if (signature?.length !== 64) return 'signature'
  try {
    const isSmall = ed25519.Point.fromBytes(signature.subarray(0, 32)).isSmallOrder()
    return !isSmall && ed25519.verify(signature, digest, publicKey, { zip215: false }) ? 'ok' : 'signature'
  } catch {
    return 'signature'
  }
}

/** Like {@link parseMeshKey}, for a public key. Throws `MSH_KEY_INVALID` also for a point that is not on the curve. */
export function parseMeshPublicKey(text: string, name: string): Uint8Array {
  const bytes = parseMeshKey(text, name)
  if (ed25519.utils.isValidPublicKey(bytes, false) && !ed25519.Point.fromBytes(bytes).isSmallOrder()) return bytes
  throw meshErrors.create('MSH_KEY_INVALID', `${name} is not an Ed25519 public key`, {
    hint: 'write the public key of the workers, not the private one'
  })
}

/** Returns the public key of a private key. */
export function meshPublicKey(privateKey: Uint8Array): Uint8Array {
  return ed25519.getPublicKey(privateKey)
}

function digestOf(payload: string): Uint8Array {
  return blake3(Buffer.from(payload, 'utf8'))
}
