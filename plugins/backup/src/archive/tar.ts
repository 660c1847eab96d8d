import { Header, Pax } from 'tar'
import { damaged } from '../errors.ts'
import type { ByteReader } from './byte-reader.ts'

const BLOCK = 512
const END = Buffer.alloc(2 * BLOCK)
const MAX_PAX_BYTES = 65_536
const MAX_PATH_BYTES = 4_096
const MAX_DEPTH = 64

/** A file in a tar archive. */
export interface TarFile {
  readonly path: string
  readonly bytes: number
  readonly mode: number
  /** Unix milliseconds. */
  readonly modified: number
}

/** Returns the blocks before a file. */
export function tarHeader({ path, bytes, mode, modified }: TarFile): Buffer {
  const fields = { path, size: bytes, mode, mtime: new Date(modified), type: 'File' as const }
  const header = new Header(fields)
  const needsPax = header.encode()
  const block = header.block as Buffer
  return needsPax ? Buffer.concat([new Pax({ path, size: bytes }).encode(), block]) : block
}

/** Returns the zeros after a file. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK)
}

export const TAR_END: Buffer = END

/**
 * Yields the files of a tar archive. The content of each must be read, with {@link ByteReader.pieces}, before the next
 * one. Throws `BKP_DAMAGED` for anything but regular files, for unsafe paths and for two files with one path.
 */
export async function* tarFiles(reader: ByteReader): AsyncGenerator<TarFile> {
  const seen = new Set<string>()
  for (;;) {
    const block = await reader.exactly(BLOCK)
    if (block.every(byte => byte === 0)) return
    const file = await fileOf(block, reader)
    assertSafe(file.path)
    // File systems of macOS and Windows do not distinguish case.
    const key = process.platform === 'linux' ? file.path : file.path.toLowerCase()
    if (seen.has(key)) throw damaged(`${shown(file.path)} appears twice`)
    seen.add(key)
    yield file
    await reader.exactly(tarPadding(file.bytes).length)
  }
}

async function fileOf(first: Buffer, reader: ByteReader): Promise<TarFile> {
  const header = parse(first)
  if (header.type !== 'ExtendedHeader') return regular(header, {})
  const size = header.size ?? 0
  if (size > MAX_PAX_BYTES) throw damaged('a header is too long')
  const text = (await reader.exactly(size)).toString('utf8')
  await reader.exactly(tarPadding(size).length)
  const extended = Pax.parse(text)
  return regular(parse(await reader.exactly(BLOCK)), extended)
}

function parse(block: Buffer): Header {
  const header = new Header(block)
  if (!header.cksumValid) throw damaged('a checksum is wrong')
  return header
}

function regular(header: Header, extended: { readonly path?: string; readonly size?: number }): TarFile {
  const path = extended.path ?? header.path ?? ''
  const bytes = extended.size ?? header.size ?? -1
  if (header.type !== 'File' && header.type !== 'OldFile')
    throw damaged(`${shown(path)} is a ${header.type}; a backup holds only files`)
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw damaged(`${shown(path)} has no valid size`)
  return { path, bytes, mode: (header.mode ?? 0) & 0o777, modified: header.mtime?.getTime() ?? 0 }
}

function assertSafe(path: string): void {
  const parts = path.split('/')
  const isSafe =
    Buffer.byteLength(path) <= MAX_PATH_BYTES &&
    parts.length <= MAX_DEPTH &&
    !/[\p{Cc}\\]/u.test(path) &&
    !/^[A-Za-z]:/.test(path) &&
    parts.every(part => part !== '' && part !== '.' && part !== '..')
  if (!isSafe) throw damaged(`the path ${shown(path)} is not safe`)
}

function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
}
