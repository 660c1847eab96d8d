import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { errors } from './errors.ts'

/** Where the folders of adapters that callers name may be. */
export class AdapterRoots {
  readonly #projectRoot: string
  readonly #further: readonly string[]

  /** The project's folder is one; `further` are others, relative to it. */
  constructor(projectRoot: string, further: readonly string[]) {
    this.#projectRoot = projectRoot
    this.#further = further
  }

  /**
   * Absolute path of a folder that a caller named relative to the project, links followed.
   *
   * Throws `MSV_ADAPTER_DIRECTORY` unless it lies in one of the roots; whether it is there is told to nobody who names
   * one outside.
   */
  async resolve(directory: string): Promise<string> {
    const asked = resolve(this.#projectRoot, directory)
    const found = await realpath(asked).catch(() => asked)
    const roots = [this.#projectRoot, ...this.#further.map(root => resolve(this.#projectRoot, root))]
    const real = await Promise.all(roots.map(root => realpath(root).catch(() => root)))
    if (real.some(root => found === root || found.startsWith(root.endsWith(sep) ? root : root + sep))) return found
    throw errors.create('MSV_ADAPTER_DIRECTORY', `'${directory}' is outside of the folders that adapters may be in`, {
      data: { directory },
      hint: 'Name a folder of the project, or let the setting plugins.model-server.adapter_roots name its parent.'
    })
  }
}
