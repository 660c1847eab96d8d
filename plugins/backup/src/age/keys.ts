import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption'
import { backupErrors } from '../errors.ts'

/** Keys for writing: one passphrase, or recipients. */
export type Locks = { readonly passphrase: string } | { readonly recipients: readonly string[] }

/** Keys for reading. `identities`: private keys, as `age-keygen` writes them. */
export interface Keys {
  readonly passphrase?: string
  readonly identities: readonly string[]
}

/** Makes a key pair. `identity` opens archives; `recipient` only encrypts them. */
export async function generateKeys(): Promise<{ readonly identity: string; readonly recipient: string }> {
  const identity = await generateX25519Identity()
  return { identity, recipient: await identityToRecipient(identity) }
}

/** Returns a recipient `age1…`. Throws `BKP_KEY_INVALID`. */
export function parseRecipient(text: string): string {
  const recipient = text.trim()
  if (isAccepted(() => new Encrypter().addRecipient(recipient))) return recipient
  throw backupErrors.create('BKP_KEY_INVALID', `${JSON.stringify(text.slice(0, 80))} is not a recipient of age`, {
    hint: 'it begins with age1; svc backup key FILE makes one'
  })
}

/** Returns the identities of a file in the form of `age-keygen`. Throws `BKP_KEY_INVALID`, without the keys. */
export function parseIdentities(text: string, file: string): string[] {
  const lines = text.split('\n').map(line => line.trim())
  const identities = lines.filter((line, index) => {
    if (line === '' || line.startsWith('#')) return false
    if (!isAccepted(() => new Decrypter().addIdentity(line))) throw invalid(`${file}:${index + 1}`)
    return true
  })
  if (identities.length === 0) throw invalid(file)
  return identities
}

/** The errors of age may show the key. */
function isAccepted(add: () => void): boolean {
  try {
    add()
    return true
  } catch {
    return false
  }
}

function invalid(place: string): Error {
  return backupErrors.create('BKP_KEY_INVALID', `${place} has no identity of age`, {
    at: { file: place },
    hint: 'an identity begins with AGE-SECRET-KEY-1; svc backup key FILE makes one'
  })
}
