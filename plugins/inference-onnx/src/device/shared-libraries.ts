import { readdir, realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Host } from './host.ts'

const SYSTEM_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/lib64',
  '/lib',
  '/usr/local/lib',
  '/usr/local/nvidia/lib64',
  '/usr/local/nvidia/lib'
]
/** Folders into which CUDA's installers put toolkits; the loader may not search them. */
const TOOLKITS = ['/usr/local', '/opt']
/** Search depth below a folder of Python packages. */
const DEPTH = 4

export interface FoundLibrary {
  /** Requested name, such as `libcudart.so.13`. */
  readonly name: string
  readonly path: string
  /** Version from the file name. */
  readonly version: string
  /** True if the dynamic loader finds the library by name. Otherwise, load it by path before libraries that need it. */
  readonly onLoaderPath: boolean
}

/** Finds shared libraries by name: in the dynamic loader's path, in CUDA's folders, and below `folders`. */
export class SharedLibraries {
  readonly #host: Host
  readonly #folders: readonly string[]
  #searched: Promise<readonly { readonly folder: string; readonly onLoaderPath: boolean }[]> | undefined
  #cache: Promise<ReadonlyMap<string, string>> | undefined

  constructor(host: Host, folders: readonly string[]) {
    this.#host = host
    this.#folders = folders
  }

  async find(name: string): Promise<FoundLibrary | null> {
    this.#cache ??= this.#loaderCache()
    const cached = (await this.#cache).get(name)
    if (cached !== undefined) return found(name, cached, true)
    this.#searched ??= this.#searchedFolders()
    for (const { folder, onLoaderPath } of await this.#searched) {
      const path = join(folder, name)
      const version = await realpath(path).catch(() => null)
      if (version !== null) return found(name, path, onLoaderPath, version)
    }
    return null
  }

  /** Returns the libraries that `ldconfig` knows; empty if it fails. */
  async #loaderCache(): Promise<ReadonlyMap<string, string>> {
    const text = (await this.#host.run('/sbin/ldconfig', ['-p'])) ?? ''
    const entries = [...text.matchAll(/^\s+(\S+) \(.*\) => (\/.*)$/gm)]
    return new Map(entries.map(([, name = '', path = '']) => [name, path]).reverse() as [string, string][])
  }

  async #searchedFolders() {
    const { root, environment } = this.#host
    const at = (folder: string) => join(root, folder)
    const path = (environment.LD_LIBRARY_PATH ?? '').split(':').filter(folder => folder !== '')
    const known = [...path, ...SYSTEM_FOLDERS].map(folder => ({ folder: at(folder), onLoaderPath: true }))
    const toolkits: string[] = []
    for (const parent of TOOLKITS.map(at)) {
      const names = await readdir(parent).catch(() => [])
      for (const name of names
        .filter(each => each.startsWith('cuda'))
        .sort()
        .reverse()) {
        toolkits.push(join(parent, name, 'lib64'), join(parent, name, 'targets/x86_64-linux/lib'))
      }
    }
    const own = (await Promise.all(this.#folders.map(folder => foldersBelow(folder, DEPTH)))).flat()
    return [...known, ...[...own, ...toolkits].map(folder => ({ folder, onLoaderPath: false }))]
  }
}

async function foldersBelow(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const below = depth === 0 ? [] : entries.filter(entry => entry.isDirectory())
  const deeper = await Promise.all(below.map(({ name }) => foldersBelow(join(folder, name), depth - 1)))
  return [folder, ...deeper.flat()]
}

async function found(name: string, path: string, onLoaderPath: boolean, real?: string): Promise<FoundLibrary> {
  const file = basename(real ?? (await realpath(path).catch(() => path)))
  return { name, path, version: /\.so\.(.+)$/.exec(file)?.[1] ?? '', onLoaderPath }
}
