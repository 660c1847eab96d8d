import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual
} from 'node:crypto'
import { promisify } from 'node:util'
import { backupErrors } from '../errors.ts'
import { ephemeralKeys, type Identity, sharedSecret } from './keys.ts'

/** First line of every file of age. */
export const VERSION_LINE = 'age-encryption.org/v1'
const X25519_INFO = 'age-encryption.org/v1/X25519'
const SCRYPT_SALT = 'age-encryption.org/v1/scrypt'
const FILE_KEY_BYTES = 16
/** Cost of a passphrase: 2^17 is 128 MiB and about half a second. */
const WORK_FACTOR = 17
/** Maximum cost that is accepted from a file: 2^20 is 1 GiB. */
const MAX_WORK_FACTOR = 20
const BODY_COLUMNS = 64

/** Keys for writing: one passphrase, or recipients. */
export type Locks = { readonly passphrase: string } | { readonly recipients: readonly Buffer[] }

/** Keys for reading. */
export interface Keys {
  readonly passphrase?: string
  readonly identities: readonly Identity[]
}

interface Stanza {
  readonly type: string
  readonly arguments: readonly string[]
  readonly body: Buffer
}

/** Returns a header and the key of the content. */
export async function sealHeader(locks: Locks): Promise<{ readonly header: Buffer; readonly fileKey: Buffer }> {
  const fileKey = randomBytes(FILE_KEY_BYTES)
  const stanzas =
    'passphrase' in locks
      ? [await scryptStanza(locks.passphrase, fileKey)]
      : locks.recipients.map(recipient => x25519Stanza(recipient, fileKey))
  const text = [VERSION_LINE, ...stanzas.map(stanzaText), '---'].join('\n')
  return { header: Buffer.from(`${text} ${base64(macOf(text, fileKey))}\n`), fileKey }
}

/**
 * Returns the key of the content. `header`: all lines up to that of the MAC, without the line feed. Throws
 * `BKP_KEY_REQUIRED`, `BKP_KEY_WRONG` and `BKP_DAMAGED`.
 */
export async function openHeader(header: string, keys: Keys): Promise<Buffer> {
  const { stanzas, authenticated, mac } = parseHeader(header)
  const fileKey = await unwrap(stanzas, keys)
  if (!isEqual(macOf(authenticated, fileKey), mac)) throw damaged('its header was changed')
  return fileKey
}

function parseHeader(header: string): {
  readonly stanzas: readonly Stanza[]
  readonly authenticated: string
  readonly mac: Buffer
} {
  const lines = header.split('\n')
  const last = lines.pop() ?? ''
  if (lines.shift() !== VERSION_LINE || !last.startsWith('--- ')) throw damaged('its header is not that of age')
  const stanzas: Stanza[] = []
  while (lines.length > 0) {
    const [arrow, type = '', ...parameters] = (lines.shift() ?? '').split(' ')
    if (arrow !== '->' || type === '') throw damaged('its header is not that of age')
    const body: string[] = []
    do body.push(lines.shift() ?? '')
    while (body.at(-1)?.length === BODY_COLUMNS)
    stanzas.push({ type, arguments: parameters, body: unbase64(body.join('')) })
  }
  return { stanzas, authenticated: header.slice(0, header.length - last.length + 3), mac: unbase64(last.slice(4)) }
}

async function unwrap(stanzas: readonly Stanza[], { passphrase, identities }: Keys): Promise<Buffer> {
  const isByPassphrase = stanzas.some(({ type }) => type === 'scrypt')
  if (isByPassphrase && stanzas.length > 1) throw damaged('a passphrase and another key cannot open the same file')
  if (isByPassphrase ? passphrase === undefined : identities.length === 0)
    throw backupErrors.create(
      'BKP_KEY_REQUIRED',
      `the archive is encrypted with ${isByPassphrase ? 'a passphrase' : 'the key of a recipient'}`,
      {
        hint: isByPassphrase
          ? 'name a file with the passphrase: --passphrase-file FILE'
          : 'name the file of the identity: --identity FILE'
      }
    )
  for (const stanza of stanzas) {
    const fileKey = isByPassphrase
      ? await openScrypt(stanza, passphrase ?? '')
      : identities.map(identity => openX25519(stanza, identity)).find(key => key !== null)
    if (fileKey !== null && fileKey !== undefined) return fileKey
  }
  throw backupErrors.create(
    'BKP_KEY_WRONG',
    isByPassphrase ? 'the passphrase does not open the archive' : 'no identity opens the archive',
    {
      hint: isByPassphrase ? 'check the passphrase' : 'name the identity of the recipient that the backup was made for'
    }
  )
}

function x25519Stanza(recipient: Buffer, fileKey: Buffer): Stanza {
  const ephemeral = ephemeralKeys()
  const shared = sharedSecret(ephemeral.privateKey, recipient)
  const key = derive(shared, Buffer.concat([ephemeral.recipient, recipient]), X25519_INFO)
  return { type: 'X25519', arguments: [base64(ephemeral.recipient)], body: wrap(key, fileKey) }
}

function openX25519({ type, arguments: [share = ''], body }: Stanza, identity: Identity): Buffer | null {
  if (type !== 'X25519') return null
  const ephemeral = unbase64(share)
  if (ephemeral.length !== 32) throw damaged('its header is not that of age')
  const shared = sharedSecret(identity.privateKey, ephemeral)
  return unwrapKey(derive(shared, Buffer.concat([ephemeral, identity.recipient]), X25519_INFO), body)
}

async function scryptStanza(passphrase: string, fileKey: Buffer): Promise<Stanza> {
  const salt = randomBytes(16)
  const key = await stretch(passphrase, salt, WORK_FACTOR)
  return { type: 'scrypt', arguments: [base64(salt), String(WORK_FACTOR)], body: wrap(key, fileKey) }
}

async function openScrypt({ arguments: [salt = '', factor = ''], body }: Stanza, passphrase: string) {
  if (!/^[1-9]\d?$/.test(factor) || Number(factor) > MAX_WORK_FACTOR)
    throw damaged(`its passphrase costs 2^${factor.slice(0, 8)}, more than 2^${MAX_WORK_FACTOR}`)
  return unwrapKey(await stretch(passphrase, unbase64(salt), Number(factor)), body)
}

function stretch(passphrase: string, salt: Buffer, factor: number): Promise<Buffer> {
  const cost = 2 ** factor
  const options = { N: cost, r: 8, p: 1, maxmem: 128 * 8 * cost + 1_048_576 }
  const run = promisify(scrypt) as (password: string, salt: Buffer, bytes: number, options: object) => Promise<Buffer>
  return run(passphrase, Buffer.concat([Buffer.from(SCRYPT_SALT), salt]), 32, options)
}

/** The key is used once, so that the nonce is zero. */
function wrap(key: Buffer, fileKey: Buffer): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: 16 })
  return Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()])
}

function unwrapKey(key: Buffer, body: Buffer): Buffer | null {
  if (body.length !== FILE_KEY_BYTES + 16) throw damaged('its header is not that of age')
  const decipher = createDecipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: 16 })
  decipher.setAuthTag(body.subarray(FILE_KEY_BYTES))
  try {
    return Buffer.concat([decipher.update(body.subarray(0, FILE_KEY_BYTES)), decipher.final()])
  } catch {
    return null
  }
}

export function derive(secret: Buffer, salt: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, 32))
}

function macOf(text: string, fileKey: Buffer): Buffer {
  return createHmac('sha256', derive(fileKey, Buffer.alloc(0), 'header'))
    .update(text)
    .digest()
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

function stanzaText({ type, arguments: parameters, body }: Stanza): string {
  const columns: string[] = base64(body).match(/.{1,64}/g) ?? []
  // A last line of full length is followed by an empty one.
  if (columns.at(-1)?.length === BODY_COLUMNS) columns.push('')
  return [['->', type, ...parameters].join(' '), ...columns].join('\n')
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

function unbase64(text: string): Buffer {
  if (!/^[A-Za-z0-9+/]*$/.test(text)) throw damaged('its header is not that of age')
  return Buffer.from(text, 'base64')
}

export function damaged(why: string): Error {
  return backupErrors.create('BKP_DAMAGED', `the archive cannot be used: ${why}`, { hint: 'use another backup' })
}
