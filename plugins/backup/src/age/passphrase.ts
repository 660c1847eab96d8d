import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { type Identity, type Recipient, Stanza } from 'age-encryption'
import { damaged } from '../errors.ts'

const TYPE = 'scrypt'
const LABEL = 'age-encryption.org/v1/scrypt'
const KEY_BYTES = 16
const TAG_BYTES = 16
/** Cost of a passphrase: 2^17 is 128 MiB and about half a second. */
const WORK_FACTOR = 17
/** Maximum cost that is accepted from a file: 2^20 is 1 GiB. */
const MAX_WORK_FACTOR = 20

/**
 * Protects the key of a file with a passphrase, as age does (https://c2sp.org/age#scrypt-recipient-stanza). The library
 * does the same on the event loop, which would stop a server for a second.
 */
export class PassphraseRecipient implements Recipient {
  readonly #passphrase: string

  constructor(passphrase: string) {
    this.#passphrase = passphrase
  }

  async wrapFileKey(fileKey: Uint8Array): Promise<Stanza[]> {
    const salt = randomBytes(16)
    const key = await stretch(this.#passphrase, salt, WORK_FACTOR)
    const cipher = createCipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: TAG_BYTES })
    const body = Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()])
    return [new Stanza([TYPE, salt.toString('base64').replace(/=+$/, ''), String(WORK_FACTOR)], body)]
  }
}

/** Opens what a {@link PassphraseRecipient} protects. Throws `BKP_DAMAGED`. */
export class PassphraseIdentity implements Identity {
  readonly #passphrase: string

  constructor(passphrase: string) {
    this.#passphrase = passphrase
  }

  async unwrapFileKey(stanzas: readonly Stanza[]): Promise<Uint8Array | null> {
    const stanza = stanzas.find(({ args }) => args[0] === TYPE)
    if (stanza === undefined) return null
    if (stanzas.length > 1) throw damaged('a passphrase and another key cannot open the same file')
    const { args, body } = stanza
    const [, salt = '', factor = ''] = args
    if (args.length !== 3 || !/^[A-Za-z0-9+/]{22}$/.test(salt) || body.length !== KEY_BYTES + TAG_BYTES)
      throw damaged('its header is not that of age')
    if (!/^[1-9]\d?$/.test(factor) || Number(factor) > MAX_WORK_FACTOR)
      throw damaged(`its passphrase costs 2^${factor.slice(0, 8)}, more than 2^${MAX_WORK_FACTOR}`)
    const key = await stretch(this.#passphrase, Buffer.from(salt, 'base64'), Number(factor))
    const decipher = createDecipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: TAG_BYTES })
    decipher.setAuthTag(body.subarray(KEY_BYTES))
    const fileKey = decipher.update(body.subarray(0, KEY_BYTES))
    try {
      decipher.final()
    } catch {
      return null
    }
    return fileKey
  }
}

function stretch(passphrase: string, salt: Buffer, factor: number): Promise<Buffer> {
  const cost = 2 ** factor
  const options = { N: cost, r: 8, p: 1, maxmem: 128 * 8 * cost + 1_048_576 }
  const run = promisify(scrypt) as (password: string, salt: Buffer, bytes: number, options: object) => Promise<Buffer>
  return run(passphrase, Buffer.concat([Buffer.from(LABEL), salt]), 32, options)
}
