import { rename } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { packageFolders } from './sandbox.ts'

export interface ChildEntry {
  /** Module that the worker thread or process runs. */
  readonly file: string
  /** Folders and files that it must be able to read. */
  readonly readable: readonly string[]
}

/** `child` runs an isolated plugin, `describe-child` reads manifests. */
export type EntryName = 'child' | 'describe-child'

const HERE = fileURLToPath(import.meta.url)
const KERNEL_ROOT = join(dirname(HERE), '..', '..')

const entries = new Map<EntryName, Promise<ChildEntry>>()

/**
 * Returns the entry module of a worker thread or process. A built kernel has it on disk. A kernel that runs from
 * sources bundles it once, since a sandboxed process has neither a TypeScript loader nor export conditions.
 */
export function childEntry(name: EntryName): Promise<ChildEntry> {
  const entry = entries.get(name) ?? (HERE.endsWith('.ts') ? bundleEntry(name) : builtEntry(name))
  entries.set(name, entry)
  return entry
}

async function builtEntry(name: EntryName): Promise<ChildEntry> {
  if (name === 'child') return { file: join(dirname(HERE), 'child.js'), readable: [...packageFolders(KERNEL_ROOT)] }
  // A single file loads faster, and many describers handle only one request.
  const file = join(KERNEL_ROOT, 'dist', 'vendor', 'describe-child.js')
  return { file, readable: [file] }
}

async function bundleEntry(name: EntryName): Promise<ChildEntry> {
  const { build } = await import('esbuild')
  const file = join(KERNEL_ROOT, 'node_modules', '.cache', 'svc', `${name}.mjs`)
  const draft = `${file}.${process.pid}`
  makeFolder(dirname(file))
  await build({
    entryPoints: [join(dirname(HERE), `${name}.ts`)],
    outfile: draft,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['svc-source'],
    external: ['esbuild'],
    alias: { '@svc/plugin-sdk/check': createRequire(import.meta.url).resolve('@svc/plugin-sdk/check/carried') },
    banner: {
      js: "import { createRequire as svcRequire } from 'node:module'; const require = svcRequire(import.meta.url);"
    },
    logLevel: 'error'
  })
  // Renamed atomically, since another process may be reading the file.
  await rename(draft, file)
  return { file, readable: [file] }
}
