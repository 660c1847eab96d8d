import { type FileHandle, open } from 'node:fs/promises'

const PT_LOAD = 1
const PT_DYNAMIC = 2
const DT_NEEDED = 1
const DT_STRTAB = 5
const PROGRAM_HEADER = 56
const DYNAMIC_ENTRY = 16
/** Maximum length of a library name, in bytes. */
const MAX_NAME = 512

interface Segment {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly size: number
}

/**
 * Returns the names of the shared libraries that a 64-bit little-endian ELF library needs (its `DT_NEEDED` entries), in
 * order. Null if the file is not such a library.
 *
 * Format: https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.dynamic.html
 */
export async function neededLibraries(file: string): Promise<readonly string[] | null> {
  const handle = await open(file, 'r')
  try {
    const header = await read(handle, 0, 64)
    if (header === null || header.length < 64) return null
    if (header.readUInt32BE(0) !== 0x7f454c46 || header[4] !== 2 || header[5] !== 1) return null
    const segments = await readSegments(handle, header)
    const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)
    const table = dynamic && (await read(handle, dynamic.offset, dynamic.size))
    if (!table) return null
    const entries = Array.from({ length: Math.floor(table.length / DYNAMIC_ENTRY) }, (_, index) => ({
      tag: Number(table.readBigInt64LE(index * DYNAMIC_ENTRY)),
      value: Number(table.readBigUInt64LE(index * DYNAMIC_ENTRY + 8))
    }))
    const strings = entries.find(({ tag }) => tag === DT_STRTAB)?.value ?? 0
    const names: string[] = []
    for (const { tag, value } of entries) {
      if (tag !== DT_NEEDED) continue
      const bytes = await read(handle, fileOffset(segments, strings + value), MAX_NAME)
      if (bytes !== null) names.push(bytes.toString('latin1', 0, bytes.indexOf(0)))
    }
    return names
  } finally {
    await handle.close()
  }
}

async function readSegments(handle: FileHandle, header: Buffer): Promise<Segment[]> {
  const [start, count] = [Number(header.readBigUInt64LE(32)), header.readUInt16LE(56)]
  const table = await read(handle, start, count * PROGRAM_HEADER)
  if (table === null) return []
  const whole = Math.floor(table.length / PROGRAM_HEADER)
  return Array.from({ length: whole }, (_, index) => {
    const at = index * PROGRAM_HEADER
    return {
      type: table.readUInt32LE(at),
      offset: Number(table.readBigUInt64LE(at + 8)),
      address: Number(table.readBigUInt64LE(at + 16)),
      size: Number(table.readBigUInt64LE(at + 32))
    }
  })
}

/** Returns the file offset of a virtual address. */
function fileOffset(segments: readonly Segment[], address: number): number {
  const segment = segments.find(
    ({ type, address: start, size }) => type === PT_LOAD && address >= start && address < start + size
  )
  return segment === undefined ? address : address - segment.address + segment.offset
}

/** Reads up to `size` bytes; null at the end of the file. */
async function read(handle: FileHandle, position: number, size: number): Promise<Buffer | null> {
  const buffer = Buffer.alloc(Math.min(size, 2 ** 20))
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, position)
  return bytesRead === 0 ? null : buffer.subarray(0, bytesRead)
}
