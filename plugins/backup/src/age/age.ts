import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { ByteReader } from '../archive/byte-reader.ts'
import { damaged, derive, type Keys, type Locks, openHeader, sealHeader, VERSION_LINE } from './header.ts'

const CHUNK_BYTES = 65_536
const TAG_BYTES = 16
const NONCE_BYTES = 16
const MAX_HEADER_BYTES = 65_536

type Bytes = AsyncIterable<Buffer>

/** Returns whether a file begins like one of age. */
export function isAge(start: Buffer): boolean {
  return start.subarray(0, VERSION_LINE.length).toString('latin1') === VERSION_LINE
}

/** Encrypts a stream in the format of age (age-encryption.org/v1), in chunks of 64 KiB. */
export async function* encrypt(source: Bytes, locks: Locks): AsyncGenerator<Buffer> {
  const { header, fileKey } = await sealHeader(locks)
  const nonce = randomBytes(NONCE_BYTES)
  yield Buffer.concat([header, nonce])
  const key = derive(fileKey, nonce, 'payload')
  let counter = 0
  for await (const { chunk, isLast } of chunksOf(source, CHUNK_BYTES)) {
    const cipher = createCipheriv('chacha20-poly1305', key, chunkNonce(counter, isLast), { authTagLength: TAG_BYTES })
    yield Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
    counter += 1
  }
}

/** Decrypts a file of age. Yields only authenticated bytes; a shortened file ends with `BKP_DAMAGED`. */
export async function* decrypt(reader: ByteReader, keys: Keys): AsyncGenerator<Buffer> {
  const fileKey = await openHeader(await readHeader(reader), keys)
  const key = derive(fileKey, await reader.exactly(NONCE_BYTES), 'payload')
  let counter = 0
  for await (const { chunk, isLast } of chunksOf(reader.rest(), CHUNK_BYTES + TAG_BYTES)) {
    if (chunk.length < TAG_BYTES || (chunk.length === TAG_BYTES && counter > 0)) throw damaged('it is incomplete')
    const end = chunk.length - TAG_BYTES
    const decipher = createDecipheriv('chacha20-poly1305', key, chunkNonce(counter, isLast), {
      authTagLength: TAG_BYTES
    })
    decipher.setAuthTag(chunk.subarray(end))
    const plain = decipher.update(chunk.subarray(0, end))
    try {
      decipher.final()
    } catch {
      throw damaged('it was changed, or is incomplete')
    }
    counter += 1
    yield plain
  }
}

async function readHeader(reader: ByteReader): Promise<string> {
  const lines: string[] = []
  for (let bytes = 0; bytes <= MAX_HEADER_BYTES; ) {
    const line = await reader.line(MAX_HEADER_BYTES)
    lines.push(line)
    bytes += line.length + 1
    if (line.startsWith('---')) return lines.join('\n')
  }
  throw damaged('its header is too long')
}

/** Counter of 11 bytes, and a byte that marks the last chunk. */
function chunkNonce(counter: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(counter, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** Splits a stream into chunks of equal size. The last one may be shorter; that of an empty stream is empty. */
async function* chunksOf(source: Bytes, size: number): AsyncGenerator<{ chunk: Buffer; isLast: boolean }> {
  let pending: Buffer[] = []
  let length = 0
  for await (const piece of source) {
    pending.push(piece)
    length += piece.length
    if (length <= size) continue
    const all = Buffer.concat(pending)
    let at = 0
    for (; all.length - at > size; at += size) yield { chunk: all.subarray(at, at + size), isLast: false }
    pending = [all.subarray(at)]
    length = all.length - at
  }
  yield { chunk: Buffer.concat(pending), isLast: true }
}
