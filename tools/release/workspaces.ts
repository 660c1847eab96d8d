import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')
const CORE = ['plugin-sdk', 'contracts', 'config', 'kernel']

/** Fields of a package.json that releases read or write. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly license?: string
  readonly keywords?: readonly string[]
  readonly engines?: { readonly node: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly exports?: unknown
  readonly imports?: unknown
  readonly svc?: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}

export interface Workspace {
  /** Folder below the root of the repository. */
  readonly folder: string
  readonly manifest: Manifest
}

/** Returns the packages of a release, in the order of their dependencies. `plugins`: names of folders; default: all. */
export function workspacesOf(plugins = pluginFolders()): Workspace[] {
  return [...CORE, ...plugins.map(name => `plugins/${name}`)].map(folder => ({
    folder,
    manifest: readJson<Manifest>(join(ROOT, folder, 'package.json'))
  }))
}

/** Throws if a package was not built. */
export function checkBuilt(workspaces: readonly Workspace[]): void {
  const unbuilt = workspaces.filter(({ folder }) => !existsSync(join(ROOT, folder, 'dist')))
  if (unbuilt.length === 0) return
  throw new Error(`${unbuilt.map(({ folder }) => folder).join(', ')}: not built; run npm run build first`)
}

function pluginFolders(): string[] {
  return readdirSync(join(ROOT, 'plugins')).filter(name => existsSync(join(ROOT, 'plugins', name, 'package.json')))
}

export function readJson<A>(file: string): A {
  return JSON.parse(readFileSync(file, 'utf8')) as A
}

export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
