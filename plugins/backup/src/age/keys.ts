import { createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { backupErrors } from '../errors.ts'
import { decodeBech32, encodeBech32 } from './bech32.ts'

const RECIPIENT = 'age'
const IDENTITY = 'age-secret-key-'
const KEY_BYTES = 32
// DER around the 32 bytes of a key (RFC 8410).
const PRIVATE_DER = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PUBLIC_DER = Buffer.from('302a300506032b656e032100', 'hex')

/** Private key, as `age-keygen` writes it. */
export interface Identity {
  readonly privateKey: KeyObject
  /** Bytes of the public key. */
  readonly recipient: Buffer
}

/** Makes a key pair. `identity` opens archives; `recipient` only encrypts them. */
export function generateKeys(): { readonly identity: string; readonly recipient: string } {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  return {
    identity: encodeBech32(IDENTITY, rawPrivate(privateKey)).toUpperCase(),
    recipient: encodeBech32(RECIPIENT, rawPublic(publicKey))
  }
}

/** Returns the bytes of a recipient `age1…`. Throws `BKP_KEY_INVALID`. */
export function parseRecipient(text: string): Buffer {
  const bytes = decodeBech32(RECIPIENT, text.trim())
  if (bytes?.length === KEY_BYTES) return bytes
  throw backupErrors.create('BKP_KEY_INVALID', `${JSON.stringify(text.slice(0, 80))} is not a recipient of age`, {
    hint: 'it begins with age1; svc backup key FILE makes one'
  })
}

/** Returns the identities of a file in the form of `age-keygen`. Throws `BKP_KEY_INVALID`, without the keys. */
export function parseIdentities(text: string, file: string): Identity[] {
  const lines = text.split('\n').map(line => line.trim())
  const identities = lines.flatMap((line, index) => {
    if (line === '' || line.startsWith('#')) return []
    const bytes = decodeBech32(IDENTITY, line)
    if (bytes?.length !== KEY_BYTES) throw invalid(`${file}:${index + 1}`)
    const privateKey = createPrivateKey({ key: Buffer.concat([PRIVATE_DER, bytes]), format: 'der', type: 'pkcs8' })
    return [{ privateKey, recipient: rawPublic(createPublicKey(privateKey)) }]
  })
  if (identities.length === 0) throw invalid(file)
  return identities
}

/** Returns the shared secret of X25519. Throws if the public key has a small order. */
export function sharedSecret(privateKey: KeyObject, recipient: Buffer): Buffer {
  const publicKey = createPublicKey({ key: Buffer.concat([PUBLIC_DER, recipient]), format: 'der', type: 'spki' })
  return diffieHellman({ privateKey, publicKey })
}

/** Returns a key pair for one stanza. */
export function ephemeralKeys(): Identity {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  return { privateKey, recipient: rawPublic(publicKey) }
}

function rawPrivate(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'pkcs8' }).subarray(PRIVATE_DER.length)
}

function rawPublic(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_DER.length)
}

function invalid(place: string): Error {
  return backupErrors.create('BKP_KEY_INVALID', `${place} has no identity of age`, {
    at: { file: place },
    hint: 'an identity begins with AGE-SECRET-KEY-1; svc backup key FILE makes one'
  })
}
