import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConfigProblem } from '@svc/plugin-sdk'
import { isTable, type Layer, lookup, merge, type Path, type Table, UNSET, type View } from './layers.ts'
import { problem } from './problem.ts'
import type { Section } from './section.ts'
import { type Position, parseToml, pathKey, syntaxProblem, tomlPositions, tryToml } from './toml.ts'

const load = createRequire(import.meta.url)

/** File, folder and variable names under which a program finds its configuration. */
export interface Dialect {
  /** Name of the project file, such as `svc.toml`. */
  readonly file: string
  /** Folder of the user file, relative to the configuration directory. */
  readonly userFolder: string
  /** Variables with this prefix that resemble a known one are reported. */
  readonly envPrefix: string
  /** Variables and setting that name the project's root folder. */
  readonly root?: { readonly variables: readonly string[]; readonly setting: Path }
}

export const svcDialect: Dialect = {
  file: 'svc.toml',
  userFolder: 'svc',
  envPrefix: 'SVC_',
  root: { variables: ['SVC_REPO_ROOT', 'SVC_REPOSITORY_ROOT'], setting: ['kernel', 'repository_root'] }
}

export interface SourceOptions {
  /** Where the search for the project's file begins. */
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly profile?: string
  /** Overrides in the form `a.b=c`. The last one wins. */
  readonly set?: readonly string[]
  /** Path of the project file. Replaces the search. */
  readonly projectFile?: string
  /** Text to use instead of the content of the project file. */
  readonly projectText?: string
  /** Path of the user file. Default: `svc/svc.toml` in `XDG_CONFIG_HOME`, else in `~/.config`. */
  readonly userFile?: string
  /** Path of the defaults file. Default: `defaults.toml` of this package. Null: no such file. */
  readonly defaultsFile?: string | null
  /** Folder of installed profiles. Default: `profiles` of this package. */
  readonly profilesDirectory?: string
  /** Default: that of svc. */
  readonly dialect?: Dialect
}

/** All configuration as read, before it is assigned to sections. */
export interface ConfigSources {
  /** Layers of files and overrides, lowest first. Each view covers a whole file. */
  readonly layers: readonly View[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly projectRoot: string
  /** Path of the project file, which may not exist yet. */
  readonly projectFile: string
  /** Path of the local file next to the project file, which may not exist. */
  readonly localFile: string
  /** Every path that may hold configuration, existing or not: the files to watch. */
  readonly files: readonly string[]
  readonly problems: readonly ConfigProblem[]
  /** Time at which reading began, in milliseconds since the epoch. */
  readonly readAt: number
  readonly dialect: Dialect
}

/**
 * Reads all configuration files. Never throws for bad input: an unreadable file is reported and its layer is empty.
 *
 * The project's root is the first of these that exists: a root variable, the root setting, the folder of the project
 * file, the nearest folder with `.git`, the working directory.
 */
export function readSources(options: SourceOptions): ConfigSources {
  const { env, dialect = svcDialect } = options
  const readAt = Date.now()
  const problems: ConfigProblem[] = []
  const files = new Set<string>()
  const named = dialect.root?.variables.map(variable => env[variable]?.trim()).find(Boolean)
  const start = resolve(options.cwd, named ?? '.')
  const found =
    options.projectFile === undefined
      ? findProject(start, dialect.file, files)
      : resolve(options.cwd, options.projectFile)
  const fallback = named === undefined ? (ancestorWith('.git', start) ?? start) : start
  const projectFile = found ?? join(fallback, dialect.file)
  const folder = dirname(projectFile)

  const read = (layer: Layer, file: string): View[] => {
    files.add(file)
    return readLayer(layer, file, folder, problems, file === projectFile ? options.projectText : undefined)
  }
  const localFile = join(folder, variant(dialect, 'local'))
  const { profile, defaultsFile = installed('defaults.toml') } = options
  const installedProfiles = options.profilesDirectory ?? installed('profiles')
  const profilePlaces = [join(installedProfiles, `${profile}.toml`), join(folder, variant(dialect, String(profile)))]
  const layers = [
    ...(defaultsFile === null ? [] : read('defaults', defaultsFile)),
    ...read('user', options.userFile ?? join(configHome(env), dialect.userFolder, dialect.file)),
    ...read('project', projectFile),
    ...(profile === undefined ? [] : readProfile(profile, profilePlaces, read, problems)),
    ...read('local', localFile),
    ...(options.set ?? []).flatMap((text, index) => readOverride(text, index, problems))
  ]
  const settings =
    dialect.root === undefined ? [] : layers.map(({ table }) => lookup(table, dialect.root?.setting ?? []))
  const setting = settings.findLast(value => value !== undefined)
  const configured = typeof setting === 'string' && setting !== UNSET ? resolve(folder, setting) : folder
  const projectRoot = named === undefined ? configured : start
  return { layers, env, projectRoot, projectFile, localFile, files: [...files], problems, readAt, dialect }
}

/** Returns the file name of a variant: `svc.toml` and `local` become `svc.local.toml`. */
function variant({ file }: Dialect, name: string): string {
  return file.replace(/(?=\.[^.]*$)/, `.${name}`)
}

/** Returns the path of a file that ships with this package. */
function installed(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url))
}

function configHome(env: SourceOptions['env']): string {
  return env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
}

type Search = (folder: string) => { readonly filepath: string } | null

/** Searches a folder and its ancestors for the project file. Adds the candidates inside the project to `files`. */
function findProject(start: string, file: string, files: Set<string>): string | undefined {
  const search = searchFor(file)
  const top = ancestorWith('.git', start) ?? start
  for (let folder = start; ; folder = dirname(folder)) {
    // Files above the project are not watched.
    if (!relative(top, folder).startsWith('..')) files.add(join(folder, file))
    const hit = search(folder)
    if (hit !== null) return hit.filepath
    if (folder === dirname(folder)) return undefined
  }
}

/**
 * Returns the search for the project file in one folder. cosmiconfig would first read its own settings from the working
 * directory and execute `.config/config.js`. So it is used only if there is no `.config` folder, and its settings in
 * `package.json` cannot add file names or loaders.
 */
function searchFor(file: string): Search {
  const plain: Search = folder => (existsSync(join(folder, file)) ? { filepath: join(folder, file) } : null)
  if (existsSync('.config')) return plain
  let explorer: Search | undefined
  return folder => {
    // Most folders have no such file, and loading cosmiconfig is the slowest step of the search.
    if (plain(folder) === null) return null
    explorer ??= explorerFor(file, plain)
    return explorer(folder)
  }
}

function explorerFor(file: string, plain: Search): Search {
  const { cosmiconfigSync, defaultLoadersSync } = load('#cosmiconfig') as typeof import('cosmiconfig')
  // Only the path is needed here: the content is parsed later, with the other layers.
  const marker = (): object => ({})
  const loaders = Object.fromEntries(Object.keys({ ...defaultLoadersSync, '.toml': marker }).map(key => [key, marker]))
  try {
    const explorer = cosmiconfigSync('svc', {
      searchPlaces: [file],
      searchStrategy: 'none',
      loaders,
      ignoreEmptySearchPlaces: false,
      cache: false
    })
    return folder => {
      const hit = explorer.search(folder)
      return hit === null || hit.filepath === join(folder, file) ? hit : plain(folder)
    }
  } catch {
    // cosmiconfig throws if `package.json` is not valid JSON.
    return plain
  }
}

function ancestorWith(name: string, start: string): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, name))) return folder
    if (folder === dirname(folder)) return undefined
  }
}

function readLayer(layer: Layer, file: string, folder: string, problems: ConfigProblem[], given?: string): View[] {
  let text: string
  try {
    text = given ?? readFileSync(file, 'utf8')
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

function fileView(layer: Layer, file: string, folder: string, text: string, table: Table): View {
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
  read: (layer: Layer, file: string) => View[],
  problems: ConfigProblem[]
): View[] {
  if (!isProfileName(name)) {
    const message = `${JSON.stringify(name)} is not a profile name; use letters, digits, _ and -`
    problems.push(problem('error', 'CFG_PROFILE_UNKNOWN', message, undefined, undefined, hintFor(places)))
    return []
  }
  const layers = places.flatMap(file => read('profile', file))
  if (places.some(existsSync)) return layers
  const message = `there is no profile "${name}"; searched ${places.join(' and ')}`
  problems.push(problem('error', 'CFG_PROFILE_UNKNOWN', message, undefined, undefined, hintFor(places)))
  return []
}

/** True for a name that selects a profile. `svc.local.toml` is a layer and no profile. */
function isProfileName(name: string): boolean {
  return /^[\w-]+$/.test(name) && name !== 'local'
}

/** Lists the profiles next to the files that were searched: `NAME.toml` and `svc.NAME.toml`. */
function hintFor([installed = '', own = '']: readonly string[]): string {
  const [prefix = ''] = basename(own).split('.')
  const names = [
    ...filesIn(dirname(installed)).map(file => /^(.+)\.toml$/.exec(file)?.[1]),
    ...filesIn(dirname(own)).map(file => (file.startsWith(`${prefix}.`) ? /\.(.+)\.toml$/.exec(file)?.[1] : undefined))
  ].filter(name => name !== undefined && isProfileName(name))
  return names.length === 0 ? `create ${own}` : `use one of ${[...new Set(names)].sort().join(', ')}`
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Parses `a.b=c`. If `c` is not a TOML value, it is a string. */
function readOverride(text: string, index: number, problems: ConfigProblem[]): View[] {
  const split = text.indexOf('=')
  const key = text.slice(0, split).trim()
  const place = { text: `--set ${key}` }
  for (const document of [text, `${key} = ${JSON.stringify(text.slice(split + 1))}`]) {
    const table = split > 0 && !/[\r\n]/.test(document) ? tryToml(document) : undefined
    if (table !== undefined && Object.keys(table).length > 0) return [{ layer: 'set', table, place: () => place }]
  }
  // The message does not quote the override: it may contain a secret.
  const message = `--set option ${index + 1} does not have the form KEY=VALUE`
  problems.push(
    problem('error', 'CFG_SET_INVALID', message, undefined, undefined, 'for example plugins.http.port=8080')
  )
  return []
}

/**
 * Returns the files that had settings before and now have none or do not exist. Many programs truncate a file before
 * they write it, so that a reader may briefly find it empty.
 */
export function emptiedFiles(before: ConfigSources, after: ConfigSources): readonly string[] {
  const isEmpty = ({ table }: View): boolean => Object.keys(table).length === 0
  const refused = new Set(after.problems.map(({ file }) => file))
  const filled = new Set(after.layers.filter(layer => !isEmpty(layer)).map(fileOf))
  const files = before.layers.filter(layer => !isEmpty(layer)).flatMap(layer => fileOf(layer) ?? [])
  return files.filter(file => !filled.has(file) && !refused.has(file))
}

function fileOf(layer: View): string | undefined {
  return layer.place([]).file
}

/** Returns the part of a layer that belongs to one section. Its tables merge; later ones win. */
export function viewOf(layer: View, { tables: bases, accepts }: Pick<Section, 'tables' | 'accepts'>): View {
  const tables = bases.map(base => {
    const table = lookup(layer.table, base)
    if (!isTable(table)) return {}
    return accepts === undefined
      ? table
      : Object.fromEntries(Object.entries(table).filter(([key]) => accepts(key, base)))
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
