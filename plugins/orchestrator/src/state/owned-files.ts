/**
 * Owner of each file: the agent that got a task that writes it, claimed it, or received it in a handoff. An agent's files
 * are also its scope: it may write these paths, and paths below and above them. An agent without files may write anywhere.
 */
export class OwnedFiles {
  readonly #owners = new Map<string, number>()
  readonly #files = new Map<number, Set<string>>()
  /** Number of files below each folder, by agent. */
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

  /** Sets the owner of a file. Returns false if the agent already owns it. */
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

  /** Removes the owner of a file. Returns false if it had none. */
  release(path: string): boolean {
    const owner = this.#owners.get(path)
    if (owner === undefined) return false
    this.#owners.delete(path)
    this.#forget(path, owner)
    return true
  }

  /** Returns true if a path is within an agent's scope. */
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

/** Iterates over the parent folders of a path: `a/b` and `a` for `a/b/c`. */
function* foldersOf(path: string): Iterable<string> {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) yield path.slice(0, at)
}
