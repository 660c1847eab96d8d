import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SvcError } from '@svc/plugin-sdk'
import { loaderErrors } from '../loader/errors.ts'
import { readPackageJson } from '../loader/plugin-package.ts'

export interface DiscoveryProblem {
  readonly location: string
  readonly error: SvcError
}

/** Collects the folders of plugins, each once. */
export class Places {
  /** Package folders, links resolved. */
  readonly roots = new Set<string>()
  /** Folders in which plugin folders appear. */
  readonly directories = new Set<string>()
  /** Files that would make a plugin of their folder. */
  readonly candidates = new Set<string>()
  readonly problems: DiscoveryProblem[] = []
  /** Visited packages of a `node_modules`, since two folders may see the same. */
  readonly #installed = new Set<string>()

  /** Every folder in it is expected to be a plugin. */
  folderOfPlugins(directory: string): void {
    if (!existsSync(directory)) return
    this.directories.add(directory)
    for (const name of folders(directory)) this.roots.add(realpathSync.native(join(directory, name)))
  }

  /** Folders in it that declare a plugin; the others may be unrelated. */
  declared(directory: string): void {
    this.directories.add(directory)
    for (const name of folders(directory)) {
      const root = join(directory, name)
      this.candidates.add(join(root, 'package.json'))
      if (declares(root)) this.roots.add(realpathSync.native(root))
    }
  }

  /** A directory of the configuration; it must exist. */
  named(directory: string): void {
    const stats = statSync(directory, { throwIfNoEntry: false })
    if (stats?.isDirectory() !== true) {
      const error = loaderErrors.create('LDR_DIRECTORY_UNREADABLE', `plugin directory ${directory} is not a folder`, {
        at: { file: directory, path: 'plugin_directories' },
        hint: 'make the folder, or correct plugin_directories in svc.toml'
      })
      this.problems.push({ location: directory, error })
      return
    }
    if (declares(directory)) this.roots.add(realpathSync.native(directory))
    else this.folderOfPlugins(directory)
  }

  /** Direct dependencies of the package in a folder, and packages whose names mark them as plugins. */
  installed(from: string): void {
    const dependencies = dependenciesOf(from)
    for (let folder = from; ; folder = dirname(folder)) {
      const modules = join(folder, 'node_modules')
      for (const name of [...dependencies, ...namedAsPlugins(modules)]) {
        const root = join(modules, name)
        if (this.#installed.has(root)) continue
        this.#installed.add(root)
        if (declares(root)) this.roots.add(realpathSync.native(root))
      }
      if (folder === dirname(folder)) return
    }
  }
}

/** Names of the folders in a folder, links to folders included. `isWanted` spares the look at a link. */
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

/** Whether a folder holds a package that declares a plugin. False if it cannot be read. */
function declares(root: string): boolean {
  try {
    return readPackageJson(root).svc !== undefined
  } catch {
    return false
  }
}
