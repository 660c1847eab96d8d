import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SvcError } from '@svc/plugin-sdk'
import { loaderErrors } from '../loader/errors.ts'
import { readPackageJson } from '../loader/plugin-package.ts'

export interface DiscoveryProblem {
  readonly location: string
  readonly error: SvcError
  /** Package of the same name that is used instead of this one. */
  readonly usedInstead?: { readonly name: string; readonly used: string }
}

/** Content of a folder's package.json. `unreadable`: it exists, but is not valid JSON or cannot be read. */
type Declaration = 'plugin' | 'no plugin' | 'unreadable'

/** Collects the package folders of plugins, without duplicates. */
export class PluginFolders {
  /** Package folders with links resolved. */
  readonly roots = new Set<string>()
  /** Folders in which plugin folders may appear. */
  readonly directories = new Set<string>()
  /** Paths of package.json files whose creation or change may turn their folder into a plugin. */
  readonly candidates = new Set<string>()
  readonly problems: DiscoveryProblem[] = []
  /** Packages in `node_modules` that were already visited: two folders may resolve to the same one. */
  readonly #installed = new Set<string>()
  readonly #isKnown: (root: string) => boolean

  /** `isKnown`: true for a package folder, with links resolved, that contained a plugin before. */
  constructor(isKnown: (root: string) => boolean = () => false) {
    this.#isKnown = isKnown
  }

  /** Adds all folders in a directory. Each must be a plugin. */
  addFolderOfPlugins(directory: string): void {
    if (!existsSync(directory)) return
    this.directories.add(directory)
    for (const name of folders(directory)) this.roots.add(realpathSync.native(join(directory, name)))
  }

  /**
   * Adds those folders in a directory that declare a plugin, or whose package.json is unreadable. Others may be
   * unrelated.
   */
  addDeclared(directory: string): void {
    this.directories.add(directory)
    for (const name of folders(directory)) {
      const root = join(directory, name)
      this.candidates.add(join(root, 'package.json'))
      if (declarationIn(root) !== 'no plugin') this.roots.add(realpathSync.native(root))
    }
  }

  /** Adds a directory of the configuration, which must exist. */
  addNamed(directory: string): void {
    const stats = statSync(directory, { throwIfNoEntry: false })
    if (stats?.isDirectory() !== true) {
      const error = loaderErrors.create('LDR_DIRECTORY_UNREADABLE', `plugin directory ${directory} is not a folder`, {
        at: { file: directory, path: 'plugin_directories' },
        hint: 'create the folder, or correct plugin_directories in svc.toml'
      })
      this.problems.push({ location: directory, error })
      return
    }
    if (this.#isPlugin(directory, () => !containsPackages(directory))) this.roots.add(realpathSync.native(directory))
    else this.addFolderOfPlugins(directory)
  }

  /**
   * Adds plugins in `node_modules`: direct dependencies of the package in a folder, and packages with a plugin's name.
   */
  addInstalled(from: string): void {
    const dependencies = dependenciesOf(from)
    for (let folder = from; ; folder = dirname(folder)) {
      const modules = join(folder, 'node_modules')
      for (const name of [...dependencies, ...namedAsPlugins(modules)]) {
        const root = join(modules, name)
        if (this.#installed.has(root)) continue
        this.#installed.add(root)
        if (this.#isPlugin(root, () => isNamedAsPlugin(name))) this.roots.add(realpathSync.native(root))
      }
      if (folder === dirname(folder)) return
    }
  }

  /** True for a plugin. With an unreadable package.json, one that was a plugin before or `resembles` one. */
  #isPlugin(root: string, resembles: () => boolean): boolean {
    const declaration = declarationIn(root)
    if (declaration !== 'unreadable') return declaration === 'plugin'
    return this.#isKnown(realpathSync.native(root)) || resembles()
  }
}

/** Returns the names of subfolders, including links to folders. `isWanted` filters names before links are resolved. */
function folders(directory: string, isWanted: (name: string) => boolean = () => true): string[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
  const isFolder = (entry: Dirent): boolean =>
    entry.isDirectory() ||
    (entry.isSymbolicLink() && statSync(join(directory, entry.name), { throwIfNoEntry: false })?.isDirectory() === true)
  return entries
    .filter(entry => !entry.name.startsWith('.') && entry.name !== 'node_modules' && isWanted(entry.name))
    .filter(isFolder)
    .map(entry => entry.name)
    .sort()
}

function namedAsPlugins(modules: string): string[] {
  return folders(modules, name => name.startsWith('@') || name.startsWith('svc-plugin-')).flatMap(name => {
    if (!name.startsWith('@')) return [name]
    const prefix = name === '@svc' ? 'plugin-' : 'svc-plugin-'
    return folders(join(modules, name), each => each.startsWith(prefix)).map(each => `${name}/${each}`)
  })
}

function isNamedAsPlugin(name: string): boolean {
  return /^(?:@svc\/plugin-|(?:@[^/]+\/)?svc-plugin-)/.test(name)
}

function containsPackages(directory: string): boolean {
  return folders(directory).some(name => existsSync(join(directory, name, 'package.json')))
}

function dependenciesOf(root: string): string[] {
  try {
    const { dependencies, devDependencies } = readPackageJson(root) as Record<
      string,
      Record<string, string> | undefined
    >
    return Object.keys({ ...devDependencies, ...dependencies })
  } catch {
    return []
  }
}

function declarationIn(root: string): Declaration {
  try {
    return readPackageJson(root).svc === undefined ? 'no plugin' : 'plugin'
  } catch {
    return existsSync(join(root, 'package.json')) ? 'unreadable' : 'no plugin'
  }
}
