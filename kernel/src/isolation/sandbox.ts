import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import type { Permissions } from '@svc/plugin-sdk'

/** Environment variables that every isolated plugin can read. Others require `permissions.env`. */
const COMMON_ENV = ['NODE_ENV', 'TZ', 'LANG']

/** True if Node has the flag `--permission`. Node 20 has only the experimental flag. */
const STABLE = process.allowedNodeEnvironmentFlags.has('--permission')

export interface SandboxRequest {
  readonly kind: 'worker' | 'process'
  readonly permissions: Permissions
  readonly projectRoot: string
  /** Absolute paths of folders and files that the child must read to run. */
  readonly readable: readonly string[]
  /** Folder for the plugin's data, which it may read and write; null if there is none. */
  readonly dataDirectory: string | null
}

/**
 * Returns Node's flags for the permissions of an isolated plugin. Paths are relative to the project; `*` grants all
 * paths. Node's permission model follows symbolic links, so a link in a granted folder may give access to files outside
 * of it.
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
    // Node grants read access to the entry script. For a worker it would grant the working directory; this flag
    // prevents it.
    ...(STABLE && kind === 'worker' ? ['--interactive'] : []),
    ...patterns([...readable, ...own, ...within(fsRead)]).map(path => `--allow-fs-read=${path}`),
    ...patterns([...own, ...within(fsWrite)]).map(path => `--allow-fs-write=${path}`),
    ...(childProcess ? ['--allow-child-process'] : []),
    ...(worker ? ['--allow-worker'] : []),
    ...(nativeAddons ? ['--allow-addons'] : []),
    // Newer Node versions also restrict the network. Manifests have no permission for it, so it is always granted.
    ...(process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : [])
  ]
}

/** Returns patterns for Node's flags. `path/*` matches the path itself and all below. Node 20 aborts on duplicates. */
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
 * Returns the folders from which code of a package may be required: the package, every `node_modules` above it, and
 * linked dependencies (as in a workspace), recursively.
 */
export function packageFolders(root: string, found = new Set<string>()): Set<string> {
  const real = realpathSync(root)
  if (found.has(real)) return found
  found.add(real)
  const moduleFolders: string[] = []
  for (let folder = real; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'node_modules'))) moduleFolders.push(join(folder, 'node_modules'))
    if (folder === dirname(folder)) break
  }
  for (const folder of moduleFolders) found.add(folder)
  for (const name of dependenciesOf(real)) {
    const installed = moduleFolders.map(folder => join(folder, name)).find(each => existsSync(each))
    if (installed === undefined) continue
    const target = realpathSync(installed)
    if (!moduleFolders.some(folder => target.startsWith(folder + sep))) packageFolders(target, found)
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
