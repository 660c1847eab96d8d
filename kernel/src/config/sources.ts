import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConfigProblem } from '@svc/contracts'
import { isTable, lookup, merge, type Path, type Table, UNSET, type View } from './layers.ts'
import { problem } from './problem.ts'
import { type Position, parseToml, pathKey, syntaxProblem, tomlPositions, tryToml } from './toml.ts'

const PROJECT_FILE = 'svc.toml'

export interface SourceOptions {
  /** Where the search for `svc.toml` begins. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly profile?: string
  /** Overrides in the form `a.b=c`, the last one wins. */
  readonly set?: readonly string[]
  /** In place of the search. */
  readonly projectFile?: string
  /** Default `svc/svc.toml` in `XDG_CONFIG_HOME`, else in `~/.config`. */
  readonly userFile?: string
  /** Default `config/defaults.toml` of the installation. */
  readonly defaultsFile?: string
  /** Default `config/profiles` of the installation. */
  readonly profilesDirectory?: string
}

/** Everything that configuration is made of, read but not yet understood: what settings there are, manifests know. */
export interface ConfigSources {
  /** File layers and overrides, lowest first. Their views are of whole files. */
  readonly layers: readonly View[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly projectRoot: string
  /** The project's `svc.toml`, which need not exist yet. */
  readonly projectFile: string
  /** Every file that was looked at, whether it exists or not: what to watch. */
  readonly files: readonly string[]
  readonly problems: readonly ConfigProblem[]
}

/**
 * Reads all configuration files. Throws nothing: what cannot be read is a problem and its layer is empty.
 *
 * The project's root is `SVC_REPO_ROOT` (alias `SVC_REPOSITORY_ROOT`), else `kernel.repository_root`, else the folder of
 * the project's `svc.toml`, else the nearest folder with `.git`, else the working directory.
 */
export function readSources(options: SourceOptions): ConfigSources {
  const { env } = options
  const problems: ConfigProblem[] = []
  const files = new Set<string>()
  const named = env.SVC_REPO_ROOT?.trim() || env.SVC_REPOSITORY_ROOT?.trim()
  const start = resolve(options.cwd, named ?? '.')
  const found =
    options.projectFile === undefined ? findProject(start, files) : resolve(options.cwd, options.projectFile)
  const fallback = named === undefined ? (ancestorWith('.git', start) ?? start) : start
  const projectFile = found ?? join(fallback, PROJECT_FILE)
  const folder = dirname(projectFile)

  const read = (layer: string, file: string): View[] => {
    files.add(file)
    return readLayer(layer, file, folder, problems)
  }
  const { profile } = options
  const installedProfiles = options.profilesDirectory ?? installed('profiles')
  const profilePlaces = [join(installedProfiles, `${profile}.toml`), join(folder, `svc.${profile}.toml`)]
  const layers = [
    ...read('defaults', options.defaultsFile ?? installed('defaults.toml')),
    ...read('user', options.userFile ?? join(configHome(env), 'svc', PROJECT_FILE)),
    ...read('project', projectFile),
    ...(profile === undefined ? [] : readProfile(profile, profilePlaces, read, problems)),
    ...read('local', join(folder, 'svc.local.toml')),
    ...(options.set ?? []).flatMap((text, index) => readOverride(text, index, problems))
  ]
  const said = layers.map(layer => lookup(layer.table, ['kernel', 'repository_root'])).findLast(it => it !== undefined)
  const told = typeof said === 'string' && said !== UNSET ? resolve(folder, said) : folder
  const projectRoot = named === undefined ? told : start
  return { layers, env, projectRoot, projectFile, files: [...files], problems }
}

/** Files that ship with svc: in a checkout beside the kernel, installed in a copy that the build has made. */
function installed(name: string): string {
  const beside = fileURLToPath(new URL('../../../config/', import.meta.url))
  return join(existsSync(beside) ? beside : fileURLToPath(new URL('../shipped-config/', import.meta.url)), name)
}

function configHome(env: SourceOptions['env']): string {
  return env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
}

interface Explorer {
  search(folder: string): { readonly filepath: string } | null
}

/**
 * Climbs from a folder to the nearest `svc.toml`.
 *
 * cosmiconfig's public functions first look for settings of cosmiconfig itself, and execute `.config/config.js` of the
 * working directory to get them. Its explorer alone does not; the exact version is pinned for that reason.
 */
function findProject(start: string, files: Set<string>): string | undefined {
  const { ExplorerSync } = createRequire(import.meta.url)('cosmiconfig/dist/ExplorerSync.js') as {
    ExplorerSync: new (options: object) => Explorer
  }
  const explorer = new ExplorerSync({
    moduleName: 'svc',
    searchPlaces: [PROJECT_FILE],
    searchStrategy: 'none',
    // The text is parsed later, with the other layers: here it matters only that the file is there.
    loaders: { '.toml': () => ({}) },
    transform: (result: unknown) => result,
    ignoreEmptySearchPlaces: false,
    cache: false
  })
  const top = ancestorWith('.git', start) ?? start
  for (let folder = start; ; folder = dirname(folder)) {
    // A file that does not exist is worth watching inside the project only.
    if (!relative(top, folder).startsWith('..')) files.add(join(folder, PROJECT_FILE))
    const hit = explorer.search(folder)
    if (hit !== null) return hit.filepath
    if (folder === dirname(folder)) return undefined
  }
}

function ancestorWith(name: string, start: string): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, name))) return folder
    if (folder === dirname(folder)) return undefined
  }
}

function readLayer(layer: string, file: string, folder: string, problems: ConfigProblem[]): View[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      problems.push(problem('error', 'CFG_FILE_UNREADABLE', `${file} cannot be read (${code})`, { text: file, file }))
    }
    return []
  }
  try {
    return [fileView(layer, file, folder, text, parseToml(text))]
  } catch (error) {
    problems.push(syntaxProblem(error, text, file))
    return []
  }
}

function fileView(layer: string, file: string, folder: string, text: string, table: Table): View {
  const near = relative(folder, file)
  const shown = near.startsWith('..') || isAbsolute(near) ? file : near
  let positions: ReadonlyMap<string, Position> | undefined
  return {
    layer,
    table,
    place(path) {
      positions ??= tomlPositions(text)
      for (let length = path.length; length > 0; length--) {
        const position = positions.get(pathKey(path.slice(0, length)))
        if (position !== undefined) {
          return { text: `${shown}:${position.line}:${position.column}`, file, ...position }
        }
      }
      return { text: shown, file }
    }
  }
}

function readProfile(
  name: string,
  places: readonly string[],
  read: (layer: string, file: string) => View[],
  problems: ConfigProblem[]
): View[] {
  if (/^[\w-]+$/.test(name) && name !== 'local') {
    const layers = places.flatMap(file => read('profile', file))
    if (places.some(existsSync)) return layers
  }
  const message = `there is no profile "${name}": looked for ${places.join(' and ')}`
  problems.push(problem('error', 'CFG_PROFILE_UNKNOWN', message))
  return []
}

/** `a.b=c` is TOML already when `c` is a TOML value; otherwise `c` is a string. */
function readOverride(text: string, index: number, problems: ConfigProblem[]): View[] {
  const split = text.indexOf('=')
  const key = text.slice(0, split).trim()
  const place = { text: `--set ${key}` }
  for (const document of [text, `${key} = ${JSON.stringify(text.slice(split + 1))}`]) {
    const table = split > 0 && !/[\r\n]/.test(document) ? tryToml(document) : undefined
    if (table !== undefined && Object.keys(table).length > 0) return [{ layer: 'set', table, place: () => place }]
  }
  // The text is not repeated: it may hold a secret.
  const message = `override ${index + 1} given with --set is not of the form KEY=VALUE`
  problems.push(
    problem('error', 'CFG_SET_INVALID', message, undefined, undefined, 'for example plugins.http.port=8080')
  )
  return []
}

/** The part of a layer that belongs to one owner, whose settings may stand in several tables; later tables win. */
export function viewOf(layer: View, bases: readonly Path[], accepts: (key: string, base: Path) => boolean): View {
  const tables = bases.map(base => {
    const table = lookup(layer.table, base)
    return isTable(table) ? Object.fromEntries(Object.entries(table).filter(([key]) => accepts(key, base))) : {}
  })
  return {
    layer: layer.layer,
    table: tables.reduce(merge, {}),
    place(path) {
      const base = bases.findLast((_, index) => path.length > 0 && lookup(tables[index] ?? {}, path) !== undefined)
      return layer.place([...(base ?? bases[0] ?? []), ...path])
    }
  }
}
