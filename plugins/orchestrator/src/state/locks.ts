import type { LockView } from '@svc/contracts'

interface Lock {
  /** Agent that writes; null while others read. */
  writer: number | null
  readers: number[]
  /** Tasks that need the lock. */
  readonly tasks: Set<number>
  since: number
}

export interface LockConflict {
  readonly path: string
  readonly kind: 'exclusively_held' | 'shared_readers'
  readonly holder: number
}

/**
 * Read-write locks on files. Agents hold them on behalf of tasks, so tasks of the same agent never conflict; the last of
 * these tasks releases the lock. A sole reader may upgrade to a write lock.
 */
export class LockTable {
  readonly #locks = new Map<string, Lock>()
  /** Number of lock requests that conflicted. */
  contention = 0

  get size(): number {
    return this.#locks.size
  }

  paths(): Iterable<string> {
    return this.#locks.keys()
  }

  /** Returns why an agent cannot get a write lock; null if it can. */
  conflict(path: string, agent: number): LockConflict | null {
    const lock = this.#locks.get(path)
    if (lock === undefined || lock.writer === agent) return null
    if (lock.writer !== null) return { path, kind: 'exclusively_held', holder: lock.writer }
    const other = lock.readers.find(reader => reader !== agent)
    return other === undefined ? null : { path, kind: 'shared_readers', holder: other }
  }

  /** Acquires a write lock. Returns true if it is new for the agent. The caller must check {@link conflict} first. */
  write(path: string, agent: number, task: number, now: number): boolean {
    const lock = this.#locks.get(path)
    if (lock === undefined) {
      this.#locks.set(path, { writer: agent, readers: [], tasks: new Set([task]), since: now })
      return true
    }
    const isNew = lock.writer !== agent
    lock.writer = agent
    lock.readers = []
    lock.tasks.add(task)
    return isNew
  }

  /** Acquires a read lock. Returns true if it is new. If another agent writes the file, it is read without a lock. */
  read(path: string, agent: number, task: number, now: number): boolean {
    const lock = this.#locks.get(path)
    if (lock === undefined) {
      this.#locks.set(path, { writer: null, readers: [agent], tasks: new Set([task]), since: now })
      return true
    }
    if (lock.writer !== null && lock.writer !== agent) return false
    lock.tasks.add(task)
    if (lock.writer === agent || lock.readers.includes(agent)) return false
    lock.readers.push(agent)
    return true
  }

  /**
   * Releases a task's claim on a lock. The agent keeps the lock while another of its tasks needs it. Returns true if the
   * agent no longer holds it.
   */
  release(path: string, agent: number, task: number, ownerOf: (task: number) => number | null): boolean {
    const lock = this.#locks.get(path)
    if (lock?.tasks.delete(task) !== true) return false
    for (const other of lock.tasks) if (ownerOf(other) === agent) return false
    return this.#leave(path, lock, agent)
  }

  /** Releases an agent's lock on a file. Returns true if it held one. */
  drop(path: string, agent: number): boolean {
    const lock = this.#locks.get(path)
    if (lock === undefined || (lock.writer !== agent && !lock.readers.includes(agent))) return false
    return this.#leave(path, lock, agent)
  }

  /** Iterates over locks acquired or renewed before `time`. */
  *heldSince(time: number): Iterable<{ readonly path: string; readonly holders: readonly number[] }> {
    for (const [path, lock] of this.#locks) if (lock.since < time) yield { path, holders: holdersOf(lock) }
  }

  /** Renews an agent's lock. */
  renew(path: string, agent: number, now: number): void {
    const lock = this.#locks.get(path)
    if (lock !== undefined && (lock.writer === agent || lock.readers.includes(agent))) lock.since = now
  }

  /** Returns the agent with the write lock; null if there is none. */
  writer(path: string): number | null {
    return this.#locks.get(path)?.writer ?? null
  }

  /** Returns true if an agent holds a lock on a file. */
  isHeld(path: string, agent: number): boolean {
    const lock = this.#locks.get(path)
    return lock !== undefined && (lock.writer === agent || lock.readers.includes(agent))
  }

  /** Iterates over locks that no task needs. */
  *idle(): Iterable<{ readonly path: string; readonly holders: readonly number[] }> {
    for (const [path, lock] of this.#locks) if (lock.tasks.size === 0) yield { path, holders: holdersOf(lock) }
  }

  views(): readonly LockView[] {
    return [...this.#locks].map(([path, lock]) => {
      const [first] = lock.tasks
      return {
        path,
        kind: lock.writer === null ? 'shared_read' : 'exclusive',
        holders: holdersOf(lock),
        ...(first === undefined ? {} : { task_id: first }),
        acquired_at_ms: lock.since
      }
    })
  }

  serialise(path: string): string | null {
    const lock = this.#locks.get(path)
    if (lock === undefined) return null
    const { writer, readers, since } = lock
    return JSON.stringify({ writer, readers, since })
  }

  /** Restores a lock without its tasks, see {@link LockTable.needs}. Returns false if the file is already locked. */
  restore(path: string, json: string): boolean {
    if (this.#locks.has(path)) return false
    const { writer, readers, since } = JSON.parse(json) as Pick<Lock, 'writer' | 'readers' | 'since'>
    this.#locks.set(path, { writer, readers: [...readers], tasks: new Set(), since })
    return true
  }

  /** Adds a task to the lock that its agent holds on a file, if any. */
  needs(path: string, agent: number, task: number): void {
    if (this.isHeld(path, agent)) this.#locks.get(path)?.tasks.add(task)
  }

  #leave(path: string, lock: Lock, agent: number): boolean {
    if (lock.writer === agent) lock.writer = null
    lock.readers = lock.readers.filter(reader => reader !== agent)
    if (lock.writer === null && lock.readers.length === 0) this.#locks.delete(path)
    return true
  }
}

function holdersOf(lock: Lock): readonly number[] {
  return lock.writer === null ? [...lock.readers] : [lock.writer]
}
