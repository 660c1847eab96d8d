import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { isSvcError } from '@svc/plugin-sdk'
import { decrypt, isAge } from '../age/age.ts'
import type { Keys } from '../age/keys.ts'
import { damaged, fileError } from '../errors.ts'
import { ByteReader } from './byte-reader.ts'
import {
  type ArchiveHeader,
  HEADER_FILE,
  MANIFEST_FILE,
  MAX_JSON_BYTES,
  type Manifest,
  parseHeader,
  parseManifest
} from './manifest.ts'
import { type TarFile, tarFiles } from './tar.ts'

const READ_BYTES = 262_144
const ROOTS = /^(?:project|state|external\/[a-z0-9-]+|parts\/[a-z0-9-]+)\/./

/** Receives the files of an archive. */
export interface Visitor {
  onHeader?(header: ArchiveHeader): void
  /** Reads the pieces of a file, or returns false to only hash them. */
  onFile(file: TarFile, pieces: AsyncIterable<Buffer>): Promise<void> | false
}

/**
 * Reads an archive from its beginning to its end with constant memory, and compares all files with its manifest. Throws
 * `BKP_DAMAGED`, `BKP_FORMAT_NEWER`, `BKP_KEY_REQUIRED`, `BKP_KEY_WRONG`, and the errors of the visitor.
 */
export async function readArchive(file: string, keys: Keys, visitor: Visitor, signal: AbortSignal): Promise<Manifest> {
  const input = createReadStream(file, { highWaterMark: READ_BYTES, signal })
  const stored = new ByteReader(input)
  let plain: Readable | undefined
  try {
    const start = await stored.peek(32)
    const packed = Readable.from(isAge(start) ? decrypt(stored, keys) : stored.rest(), { objectMode: false })
    const unpacked = createGunzip()
    packed.on('error', error => unpacked.destroy(error))
    plain = packed.pipe(unpacked)
    return await readTar(new ByteReader(plain), visitor, signal)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const { code, syscall } = error as NodeJS.ErrnoException
    if (!isSvcError(error) && code?.startsWith('Z_') === true && syscall === undefined)
      throw damaged('it is incomplete, or not an archive of svc backup')
    throw fileError(error, file)
  } finally {
    plain?.destroy()
    input.destroy()
  }
}

/** Reads the first file of an archive. Null if it is encrypted. */
export async function readArchiveHeader(file: string, signal: AbortSignal): Promise<ArchiveHeader | null> {
  const input = createReadStream(file, { signal })
  const unpacked = createGunzip()
  try {
    const stored = new ByteReader(input)
    if (isAge(await stored.peek(32))) return null
    const packed = Readable.from(stored.rest(), { objectMode: false })
    packed.on('error', error => unpacked.destroy(error))
    const reader = new ByteReader(packed.pipe(unpacked))
    for await (const { path, bytes } of tarFiles(reader)) {
      if (path !== HEADER_FILE || bytes > MAX_JSON_BYTES) break
      return parseHeader((await reader.exactly(bytes)).toString('utf8'))
    }
    throw damaged('it is not an archive of svc backup')
  } catch (error) {
    if (isSvcError(error)) throw error
    throw damaged('it is not an archive of svc backup')
  } finally {
    unpacked.destroy()
    input.destroy()
  }
}

async function readTar(reader: ByteReader, visitor: Visitor, signal: AbortSignal): Promise<Manifest> {
  const found = new Map<string, { readonly bytes: number; readonly sha256: string }>()
  let manifest: Manifest | null = null
  let header: ArchiveHeader | null = null
  for await (const file of tarFiles(reader)) {
    signal.throwIfAborted()
    if (manifest !== null) throw damaged(`${file.path} follows the list of files`)
    if (header === null) {
      if (file.path !== HEADER_FILE) throw damaged('it is not an archive of svc backup')
      header = parseHeader(await json(reader, file))
      visitor.onHeader?.(header)
    } else if (file.path === MANIFEST_FILE) {
      manifest = parseManifest(await json(reader, file))
    } else {
      if (!ROOTS.test(file.path)) throw damaged(`${file.path} belongs to no part of a project`)
      const hash = createHash('sha256')
      const pieces = hashed(reader.pieces(file.bytes), hash)
      const visit = visitor.onFile(file, pieces)
      if (visit === false) for await (const _ of pieces);
      else await visit
      found.set(file.path, { bytes: file.bytes, sha256: hash.digest('hex') })
    }
  }
  if (manifest === null) throw damaged('it is incomplete')
  for (const { path, bytes, sha256 } of manifest.files) {
    const file = found.get(path)
    if (file === undefined) throw damaged(`${path} is missing`)
    if (file.bytes !== bytes || file.sha256 !== sha256) throw damaged(`${path} was changed`)
    found.delete(path)
  }
  const [more] = found.keys()
  if (more !== undefined) throw damaged(`${more} is not in its list of files`)
  return manifest
}

async function json(reader: ByteReader, { path, bytes }: TarFile): Promise<string> {
  if (bytes > MAX_JSON_BYTES) throw damaged(`${path} has more than ${MAX_JSON_BYTES} bytes`)
  return (await reader.exactly(bytes)).toString('utf8')
}

async function* hashed(pieces: AsyncIterable<Buffer>, hash: { update(piece: Buffer): unknown }) {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}
