/**
 * Owner of each file: the agent that got a task that writes it, claimed it, or received it in a handoff. The files of an agent
 * are also its scope: one that owns nothing may write anywhere, others at, below and above what they own.
 */
export class OwnedFiles {
  readonly #owners = new Map<string, number>()
  readonly #files = new Map<number, Set<string>>()
  /** Of each agent: how many of its files lie below each folder. */
  readonly #folders = new Map<number, Map<string, number>>()

  owner(path: string): number | null {
    return this.#owners.get(path) ?? null
  }

  paths(): Iterable<string> {
    return this.#owners.keys()
  }

  filesOf(agent: number): readonly string[] {
    return [...(this.#files.get(agent) ?? [])]
  }

  count(agent: number): number {
    return this.#files.get(agent)?.size ?? 0
  }

  /** False if it has it already. */
  assign(path: string, agent: number): boolean {
    const previous = this.#owners.get(path)
    if (previous === agent) return false
    if (previous !== undefined) this.#forget(path, previous)
    this.#owners.set(path, agent)
    let files = this.#files.get(agent)
    let folders = this.#folders.get(agent)
    if (files === undefined || folders === undefined) {
      this.#files.set(agent, (files = new Set()))
      this.#folders.set(agent, (folders = new Map()))
    }
    files.add(path)
    for (const folder of foldersOf(path)) folders.set(folder, (folders.get(folder) ?? 0) + 1)
    return true
  }

  /** False without an owner. */
  release(path: string): boolean {
    const owner = this.#owners.get(path)
    if (owner === undefined) return false
    this.#owners.delete(path)
    this.#forget(path, owner)
    return true
  }

  /** True if an agent may write a file, by its ownership. */
  isInScope(path: string, agent: number): boolean {
    const files = this.#files.get(agent)
    if (files === undefined || files.size === 0 || files.has(path)) return true
    if (this.#folders.get(agent)?.has(path) === true) return true
    for (const folder of foldersOf(path)) if (files.has(folder)) return true
    return false
  }

  #forget(path: string, agent: number): void {
    const files = this.#files.get(agent)
    const folders = this.#folders.get(agent)
    files?.delete(path)
    if (files?.size === 0) {
      this.#files.delete(agent)
      this.#folders.delete(agent)
      return
    }
    for (const folder of foldersOf(path)) {
      const left = (folders?.get(folder) ?? 0) - 1
      if (left <= 0) folders?.delete(folder)
      else folders?.set(folder, left)
    }
  }
}

/** `a/b/c` -> `a/b`, `a`. */
function* foldersOf(path: string): Iterable<string> {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) yield path.slice(0, at)
}
