import { Readable } from 'node:stream'
import { Decrypter, Encrypter } from 'age-encryption'
import type { ByteReader } from '../archive/byte-reader.ts'
import { backupErrors, damaged } from '../errors.ts'
import type { Keys, Locks } from './keys.ts'
import { PassphraseIdentity, PassphraseRecipient } from './passphrase.ts'

type Bytes = AsyncIterable<Buffer>

/** First line of every file of age. */
const VERSION_LINE = 'age-encryption.org/v1'

/** Returns whether a file begins like one of age. */
export function isAge(start: Buffer): boolean {
  return start.subarray(0, VERSION_LINE.length).toString('latin1') === VERSION_LINE
}

/** Encrypts a stream in the format of age (https://c2sp.org/age). */
export async function* encrypt(source: Bytes, locks: Locks): AsyncGenerator<Buffer> {
  const encrypter = new Encrypter()
  if ('passphrase' in locks) encrypter.addRecipient(new PassphraseRecipient(locks.passphrase))
  else for (const recipient of locks.recipients) encrypter.addRecipient(recipient)
  yield* buffers(await encrypter.encrypt(webStream(source)))
}

/**
 * Decrypts a file of age. Yields only authenticated bytes; a shortened file ends with `BKP_DAMAGED`. Throws also
 * `BKP_KEY_REQUIRED`, `BKP_KEY_WRONG`, and the errors of the source.
 */
export async function* decrypt(reader: ByteReader, { passphrase, identities }: Keys): AsyncGenerator<Buffer> {
  const start = (await reader.peek(VERSION_LINE.length + 12)).toString('latin1')
  const isByPassphrase = start.startsWith(`${VERSION_LINE}\n-> scrypt `)
  const decrypter = new Decrypter()
  if (!isByPassphrase && identities.length > 0) for (const each of identities) decrypter.addIdentity(each)
  else if (isByPassphrase && passphrase !== undefined) decrypter.addIdentity(new PassphraseIdentity(passphrase))
  else throw keyRequired(isByPassphrase)
  let plain: Awaited<ReturnType<typeof decrypter.decrypt>>
  try {
    plain = await decrypter.decrypt(webStream(reader.rest()))
  } catch (error) {
    if (isOfSource(error)) throw error
    throw isWrongKey(error) ? keyWrong(isByPassphrase) : damaged('its header is incomplete or was changed')
  }
  try {
    yield* buffers(plain)
  } catch (error) {
    throw isOfSource(error) ? error : damaged('it was changed, or is incomplete')
  }
}

function webStream(source: Bytes): ReadableStream<Uint8Array> {
  return Readable.toWeb(Readable.from(source, { objectMode: false })) as ReadableStream<Uint8Array>
}

async function* buffers(stream: ReadableStream<Uint8Array>): AsyncGenerator<Buffer> {
  for await (const { buffer, byteOffset, byteLength } of stream as unknown as AsyncIterable<Uint8Array>)
    yield Buffer.from(buffer, byteOffset, byteLength)
}

/** The errors of age have no code; those of svc, of files and of an abort have one. */
function isOfSource(error: unknown): boolean {
  return error instanceof Error && 'code' in error
}

/** The library has no other sign for this error. */
function isWrongKey(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('no identity matched')
}

function keyRequired(isByPassphrase: boolean): Error {
  return backupErrors.create(
    'BKP_KEY_REQUIRED',
    `the archive is encrypted with ${isByPassphrase ? 'a passphrase' : 'the key of a recipient'}`,
    {
      hint: isByPassphrase
        ? 'name a file with the passphrase: --passphrase-file FILE'
        : 'name the file of the identity: --identity FILE'
    }
  )
}

function keyWrong(isByPassphrase: boolean): Error {
  return backupErrors.create(
    'BKP_KEY_WRONG',
    isByPassphrase ? 'the passphrase does not open the archive' : 'no identity opens the archive',
    {
      hint: isByPassphrase ? 'check the passphrase' : 'name the identity of the recipient that the backup was made for'
    }
  )
}
