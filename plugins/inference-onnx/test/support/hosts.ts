import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Host } from '#device'
import { temporaryFolder } from './models.ts'

interface Teardown {
  teardown(run: () => Promise<void>): void
}

export interface HostContents {
  /** File contents by absolute path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** Output of programs by name. */
  readonly programs?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
}

export interface FakeHost extends Host {
  /** Programs that were started. */
  readonly started: readonly string[]
}

/** Creates a machine with only these files and programs. */
export async function bareHost(t: Teardown, contents: HostContents = {}): Promise<FakeHost> {
  const root = await temporaryFolder(t)
  for (const [path, content] of Object.entries(contents.files ?? {})) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  const started: string[] = []
  return {
    root,
    environment: contents.environment ?? {},
    started,
    async run(program) {
      started.push(program)
      return contents.programs?.[program] ?? null
    }
  }
}

const DRIVER = 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:17:28 UTC 2025\n'

/** Creates a machine with a driver and two NVIDIA GPUs. */
export function nvidiaHost(t: Teardown, contents: HostContents = {}): Promise<FakeHost> {
  return bareHost(t, {
    ...contents,
    files: { '/proc/driver/nvidia/version': DRIVER, ...contents.files },
    programs: {
      'nvidia-smi': '0, NVIDIA H200, 143771, 143000\n1, NVIDIA L4, 23034, 20000\n',
      ...contents.programs
    }
  })
}

/** Returns a minimal 64-bit ELF library with dependencies. */
export function sharedLibrary(needed: readonly string[]): Buffer {
  const strings = Buffer.from(`\0${needed.map(name => `${name}\0`).join('')}`)
  const [programHeaders, tables] = [64, 64 + 2 * 56]
  const dynamic = Buffer.alloc((needed.length + 2) * 16)
  let offset = 1
  for (const [index, name] of needed.entries()) {
    dynamic.writeBigInt64LE(1n, index * 16)
    dynamic.writeBigUInt64LE(BigInt(offset), index * 16 + 8)
    offset += name.length + 1
  }
  const address = 0x400000
  dynamic.writeBigInt64LE(5n, needed.length * 16)
  dynamic.writeBigUInt64LE(BigInt(address + tables + dynamic.length), needed.length * 16 + 8)
  const header = Buffer.alloc(tables)
  header.write('\x7fELF\x02\x01\x01', 'latin1')
  header.writeBigUInt64LE(BigInt(programHeaders), 32)
  header.writeUInt16LE(56, 54)
  header.writeUInt16LE(2, 56)
  const size = tables + dynamic.length + strings.length
  for (const [at, type, start, length] of [
    [programHeaders, 1, 0, size],
    [programHeaders + 56, 2, tables, dynamic.length]
  ] as const) {
    header.writeUInt32LE(type, at)
    header.writeBigUInt64LE(BigInt(start), at + 8)
    header.writeBigUInt64LE(BigInt(address + start), at + 16)
    header.writeBigUInt64LE(BigInt(length), at + 32)
  }
  return Buffer.concat([header, dynamic, strings])
}
