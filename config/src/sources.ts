import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConfigProblem } from '@svc/plugin-sdk'
import { isTable, type Layer, lookup, merge, type Path, type Table, UNSET, type View } from './layers.ts'
import { problem } from './problem.ts'
import type { Section } from './section.ts'
import { type Position, parseToml, pathKey, syntaxProblem, tomlPositions, tryToml } from './toml.ts'

const load = createRequire(import.meta.url)

/** Names with which a program finds its configuration. */
export interface Dialect {
  /** The project's file, such as `svc.toml`. */
  readonly file: string
  /** Folder of the user's file in the configuration directory. */
  readonly userFolder: string
  /** Variables with this prefix that resemble a known one are reported. */
  readonly envPrefix: string
  /** Variables and the setting that name the project's root. */
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
  /** Used instead of the search. */
  readonly projectFile?: string
  /** Default: `svc/svc.toml` in `XDG_CONFIG_HOME`, else in `~/.config`. */
  readonly userFile?: string
  /** Default: `defaults.toml` of this package. Null for no defaults. */
  readonly defaultsFile?: string | null
  /** Default: `profiles` of this package. */
  readonly profilesDirectory?: string
  /** Default: svc's own. */
  readonly dialect?: Dialect
}

/** All configuration, read but not assigned to sections. */
export interface ConfigSources {
  /** Layers of files and overrides, lowest first. Each view covers a whole file. */
  readonly layers: readonly View[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly projectRoot: string
  /** The project's file. It may not exist yet. */
  readonly projectFile: string
  /** Every file that was searched for, existing or not. Watch these. */
  readonly files: readonly string[]
  readonly problems: readonly ConfigProblem[]
  readonly dialect: Dialect
}

/**
 * Reads all configuration files. Never throws for bad input: an unreadable file is a problem, and its layer is empty.
 *
 * The project's root is the value of the first root variable that is set, else the root setting, else the folder of the
 * project's file, else the nearest folder with `.git`, else the working directory.
 */
export function readSources(options: SourceOptions): ConfigSources {
  const { env, dialect = svcDialect } = options
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
    return readLayer(layer, file, folder, problems)
  }
  const { profile, defaultsFile = installed('defaults.toml') } = options
  const installedProfiles = options.profilesDirectory ?? installed('profiles')
  const profilePlaces = [join(installedProfiles, `${profile}.toml`), join(folder, variant(dialect, String(profile)))]
  const layers = [
    ...(defaultsFile === null ? [] : read('defaults', defaultsFile)),
    ...read('user', options.userFile ?? join(configHome(env), dialect.userFolder, dialect.file)),
    ...read('project', projectFile),
    ...(profile === undefined ? [] : readProfile(profile, profilePlaces, read, problems)),
    ...read('local', join(folder, variant(dialect, 'local'))),
    ...(options.set ?? []).flatMap((text, index) => readOverride(text, index, problems))
  ]
  const settings =
    dialect.root === undefined ? [] : layers.map(({ table }) => lookup(table, dialect.root?.setting ?? []))
  const setting = settings.findLast(value => value !== undefined)
  const configured = typeof setting === 'string' && setting !== UNSET ? resolve(folder, setting) : folder
  const projectRoot = named === undefined ? configured : start
  return { layers, env, projectRoot, projectFile, files: [...files], problems, dialect }
}

/** `svc.toml` and `local` become `svc.local.toml`. */
function variant({ file }: Dialect, name: string): string {
  return file.replace(/(?=\.[^.]*$)/, `.${name}`)
}

/** Path of a file that ships with this package, in the folder above this one. */
function installed(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url))
}

function configHome(env: SourceOptions['env']): string {
  return env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
}

type Search = (folder: string) => { readonly filepath: string } | null

/** Climbs from a folder to the nearest project file. */
function findProject(start: string, file: string, files: Set<string>): string | undefined {
  const search = searchFor(file)
  const top = ancestorWith('.git', start) ?? start
  for (let folder = start; ; folder = dirname(folder)) {
    // A file that does not exist is worth watching inside the project only.
    if (!relative(top, folder).startsWith('..')) files.add(join(folder, file))
    const hit = search(folder)
    if (hit !== null) return hit.filepath
    if (folder === dirname(folder)) return undefined
  }
}

/**
 * cosmiconfig first reads settings for itself from the working directory, and executes `.config/config.js` to get them.
 * So it is used only without a `.config` folder there, and its settings in `package.json` cannot add places or loaders.
 */
function searchFor(file: string): Search {
  const plain: Search = folder => (existsSync(join(folder, file)) ? { filepath: join(folder, file) } : null)
  if (existsSync('.config')) return plain
  let explorer: Search | undefined
  return folder => {
    // Most folders have no such file, and cosmiconfig takes longer to load than all else here.
    if (plain(folder) === null) return null
    explorer ??= explorerFor(file, plain)
    return explorer(folder)
  }
}

function explorerFor(file: string, plain: Search): Search {
  const { cosmiconfigSync, defaultLoadersSync } = load('#cosmiconfig') as typeof import('cosmiconfig')
  // The text is parsed later, with the other layers.
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
    // It does not start if `package.json` is not JSON.
    return plain
  }
}

function ancestorWith(name: string, start: string): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, name))) return folder
    if (folder === dirname(folder)) return undefined
  }
}

function readLayer(layer: Layer, file: string, folder: string, problems: ConfigProblem[]): View[] {
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
  const message = `override ${index + 1} given with --set does not have the form KEY=VALUE`
  problems.push(
    problem('error', 'CFG_SET_INVALID', message, undefined, undefined, 'for example plugins.http.port=8080')
  )
  return []
}

/**
 * Returns the files that had settings before and have none now, or no longer exist. Many programs truncate a file and then
 * write it, so that a reader may find it empty for a moment.
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

/** The part of a layer that belongs to one section. Its tables merge; later ones win. */
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
