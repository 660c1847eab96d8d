import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import type { Permissions } from '@svc/plugin-sdk'

/** Variables that every isolated plugin can read; all others only by `permissions.env`. */
const COMMON_ENV = ['NODE_ENV', 'TZ', 'LANG']

/** Node 20 has the permission model only under its experimental name. */
const STABLE = process.allowedNodeEnvironmentFlags.has('--permission')

export interface SandboxRequest {
  readonly kind: 'worker' | 'process'
  readonly permissions: Permissions
  readonly projectRoot: string
  /** Folders and files that the far side must read to run; absolute. */
  readonly readable: readonly string[]
  /** Folder for the plugin's own state, which it may read and write; null for none. */
  readonly dataDirectory: string | null
}

/**
 * Node's flags for the permissions of an isolated plugin. Paths are relative to the project; `*` is everything. A
 * symbolic link inside a granted folder may lead out of it: Node's permission model follows links.
 */
export function permissionFlags(request: SandboxRequest): string[] {
  const { kind, permissions, projectRoot, readable, dataDirectory } = request
  const { fsRead = [], fsWrite = [], childProcess = false, worker = false, nativeAddons = false } = permissions
  const within = (paths: readonly string[]): string[] =>
    paths.map(path => (path === '*' ? path : resolve(projectRoot, path)))
  const own = dataDirectory === null ? [] : [dataDirectory]
  return [
    STABLE ? '--permission' : '--experimental-permission',
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    // Node grants a script its own entry. For a worker it takes the working directory, unless it expects a prompt.
    ...(STABLE && kind === 'worker' ? ['--interactive'] : []),
    ...patterns([...readable, ...own, ...within(fsRead)]).map(path => `--allow-fs-read=${path}`),
    ...patterns([...own, ...within(fsWrite)]).map(path => `--allow-fs-write=${path}`),
    ...(childProcess ? ['--allow-child-process'] : []),
    ...(worker ? ['--allow-worker'] : []),
    ...(nativeAddons ? ['--allow-addons'] : []),
    // Later versions of Node confine the network, too, for which manifests have no field.
    ...(process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : [])
  ]
}

/** `path/*` stands for the path itself and all below, whether it exists or not. Node 20 aborts on a path given twice. */
function patterns(paths: readonly string[]): string[] {
  if (paths.includes('*')) return ['*']
  const outermost = paths.filter(path => !paths.some(other => path.startsWith(other + sep)))
  return [...new Set(outermost.map(path => join(path, '*')))]
}

export function allowedEnvironment(permissions: Permissions, env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const names = [...COMMON_ENV, ...(permissions.env ?? [])]
  return Object.fromEntries(names.filter(name => env[name] !== undefined).map(name => [name, env[name]]))
}

/**
 * Folders from which code of a package may be required: the package, every `node_modules` above it, and linked
 * dependencies, as in a workspace, with theirs.
 */
export function packageFolders(root: string, found = new Set<string>()): Set<string> {
  const real = realpathSync(root)
  if (found.has(real)) return found
  found.add(real)
  const shelves: string[] = []
  for (let folder = real; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules'))) shelves.push(join(folder, 'node_modules'))
    if (folder === dirname(folder)) break
  }
  for (const shelf of shelves) found.add(shelf)
  for (const name of dependenciesOf(real)) {
    const installed = shelves.map(shelf => join(shelf, name)).find(each => existsSync(each))
    if (installed === undefined) continue
    const target = realpathSync(installed)
    if (!shelves.some(shelf => target.startsWith(shelf + sep))) packageFolders(target, found)
  }
  return found
}

function dependenciesOf(root: string): string[] {
  const file = join(root, 'package.json')
  if (!existsSync(file)) return []
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(readFileSync(file, 'utf8')) as Record<
    string,
    Record<string, string> | undefined
  >
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })
}
