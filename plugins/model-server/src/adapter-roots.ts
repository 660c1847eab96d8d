import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { errors } from './errors.ts'

/** Folders from which callers may load adapters. */
export class AdapterRoots {
  readonly #projectRoot: string
  readonly #further: readonly string[]

  /** The project folder is always a root; `further` are additional roots, relative to it. */
  constructor(projectRoot: string, further: readonly string[]) {
    this.#projectRoot = projectRoot
    this.#further = further
  }

  /**
   * Returns the absolute path of a folder, which callers name relative to the project. Links are resolved.
   *
   * Throws `MSV_ADAPTER_DIRECTORY` if it is outside of the roots. The error does not reveal whether such a folder
   * exists.
   */
  async resolve(directory: string): Promise<string> {
    const requested = resolve(this.#projectRoot, directory)
    const found = await realpath(requested).catch(() => requested)
    const roots = [this.#projectRoot, ...this.#further.map(root => resolve(this.#projectRoot, root))]
    const real = await Promise.all(roots.map(root => realpath(root).catch(() => root)))
    if (real.some(root => found === root || found.startsWith(root.endsWith(sep) ? root : root + sep))) return found
    throw errors.create('MSV_ADAPTER_DIRECTORY', `'${directory}' is outside of the allowed adapter folders`, {
      data: { directory },
      hint: 'Use a folder of the project, or add its parent to the setting plugins.model-server.adapter_roots.'
    })
  }
}
