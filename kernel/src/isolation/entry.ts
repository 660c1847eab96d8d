import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { packageFolders } from './sandbox.ts'

export interface ChildEntry {
  /** What the worker or process runs. */
  readonly file: string
  /** Folders and files that it is made of. */
  readonly readable: readonly string[]
}

const HERE = fileURLToPath(import.meta.url)
const KERNEL_ROOT = join(dirname(HERE), '..', '..')

let entry: Promise<ChildEntry> | undefined

/**
 * Where the far side begins. A built kernel has it as `child.js` beside this file. A kernel that runs from its sources
 * bundles it once per process, since neither a loader for TypeScript nor export conditions reach into the sandbox.
 */
export function childEntry(): Promise<ChildEntry> {
  entry ??= HERE.endsWith('.ts') ? bundleEntry() : builtEntry()
  return entry
}

async function builtEntry(): Promise<ChildEntry> {
  return { file: join(dirname(HERE), 'child.js'), readable: [...packageFolders(KERNEL_ROOT)] }
}

async function bundleEntry(): Promise<ChildEntry> {
  const { build } = await import('esbuild')
  const file = join(KERNEL_ROOT, 'node_modules', '.cache', 'svc', 'child.mjs')
  const draft = `${file}.${process.pid}`
  makeFolder(dirname(file))
  await build({
    entryPoints: [join(dirname(HERE), 'child.ts')],
    outfile: draft,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['svc-source'],
    external: ['esbuild'],
    alias: { '@svc/plugin-sdk/check': fileURLToPath(import.meta.resolve('@svc/plugin-sdk/check/carried')) },
    banner: {
      js: "import { createRequire as __require } from 'node:module'; const require = __require(import.meta.url);"
    },
    logLevel: 'error'
  })
  // Another process may be starting from the same file.
  await rename(draft, file)
  return { file, readable: [file] }
}
