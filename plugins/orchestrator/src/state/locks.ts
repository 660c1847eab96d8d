import type { LockView } from '@svc/contracts'

interface Lock {
  /** Agent that writes; null while others read. */
  writer: number | null
  readers: number[]
  /** Tasks that it is held for. */
  readonly tasks: Set<number>
  since: number
}

export interface LockConflict {
  readonly path: string
  readonly kind: 'exclusively_held' | 'shared_readers'
  readonly holder: number
}

/**
 * Locks on files: one agent writes, or several read. They are held by agents on behalf of tasks, so that one agent's tasks
 * never conflict, and the last of them releases the lock. A sole reader may upgrade to writing.
 */
export class LockTable {
  readonly #locks = new Map<string, Lock>()
  /** Number of refused requests. */
  contention = 0

  get size(): number {
    return this.#locks.size
  }

  paths(): Iterable<string> {
    return this.#locks.keys()
  }

  /** Why an agent could not write a file; null if it could. */
  conflict(path: string, agent: number): LockConflict | null {
    const lock = this.#locks.get(path)
    if (lock === undefined || lock.writer === agent) return null
    if (lock.writer !== null) return { path, kind: 'exclusively_held', holder: lock.writer }
    const other = lock.readers.find(reader => reader !== agent)
    return other === undefined ? null : { path, kind: 'shared_readers', holder: other }
  }

  /** Whether the lock is new for the agent. The caller has made sure that there is no {@link conflict}. */
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

  /** Whether the agent now holds a new read lock. A file that is being written can be read, without one. */
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
   * A task no longer needs a file. The agent keeps the lock while another task that it is held for is the agent's. True if
   * the agent holds it no longer.
   */
  release(path: string, agent: number, task: number, ownerOf: (task: number) => number | null): boolean {
    const lock = this.#locks.get(path)
    if (lock?.tasks.delete(task) !== true) return false
    for (const other of lock.tasks) if (ownerOf(other) === agent) return false
    return this.#leave(path, lock, agent)
  }

  /** Releases an agent's lock on a file. True if it held one. */
  drop(path: string, agent: number): boolean {
    const lock = this.#locks.get(path)
    if (lock === undefined || (lock.writer !== agent && !lock.readers.includes(agent))) return false
    return this.#leave(path, lock, agent)
  }

  /** Those that have been held since before `time`. */
  *heldSince(time: number): Iterable<{ readonly path: string; readonly holders: readonly number[] }> {
    for (const [path, lock] of this.#locks) if (lock.since < time) yield { path, holders: holdersOf(lock) }
  }

  /** A heartbeat of the holder. */
  renew(path: string, agent: number, now: number): void {
    const lock = this.#locks.get(path)
    if (lock !== undefined && (lock.writer === agent || lock.readers.includes(agent))) lock.since = now
  }

  /** Agent that writes a file; null for none. */
  writer(path: string): number | null {
    return this.#locks.get(path)?.writer ?? null
  }

  /** Whether an agent holds a file, and for some task. */
  isHeld(path: string, agent: number): boolean {
    const lock = this.#locks.get(path)
    return lock !== undefined && (lock.writer === agent || lock.readers.includes(agent))
  }

  /** Those that no task needs. */
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

  /** Without its tasks, which declare their needs themselves: see {@link LockTable.needs}. False if another agent holds it. */
  restore(path: string, json: string): boolean {
    if (this.#locks.has(path)) return false
    const { writer, readers, since } = JSON.parse(json) as Pick<Lock, 'writer' | 'readers' | 'since'>
    this.#locks.set(path, { writer, readers: [...readers], tasks: new Set(), since })
    return true
  }

  /** A task needs a file; where its agent holds it, it is held for that task too. */
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
