import { rename } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { packageFolders } from './sandbox.ts'

export interface ChildEntry {
  /** Module that the worker or process runs. */
  readonly file: string
  /** Its folders and files. */
  readonly readable: readonly string[]
}

/** `child` runs an isolated plugin, `describe-child` reads manifests. */
export type EntryName = 'child' | 'describe-child'

const HERE = fileURLToPath(import.meta.url)
const KERNEL_ROOT = join(dirname(HERE), '..', '..')

const entries = new Map<EntryName, Promise<ChildEntry>>()

/**
 * The module that a worker or process of the kernel starts with. A built kernel has it on disk. A kernel that runs from its
 * sources bundles it once per process, since neither a loader for TypeScript nor export conditions reach into the sandbox.
 */
export function childEntry(name: EntryName): Promise<ChildEntry> {
  const entry = entries.get(name) ?? (HERE.endsWith('.ts') ? bundleEntry(name) : builtEntry(name))
  entries.set(name, entry)
  return entry
}

async function builtEntry(name: EntryName): Promise<ChildEntry> {
  if (name === 'child') return { file: join(dirname(HERE), 'child.js'), readable: [...packageFolders(KERNEL_ROOT)] }
  // In one file, because a describer starts for a single answer.
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
  // Another process may start from the same file.
  await rename(draft, file)
  return { file, readable: [file] }
}
