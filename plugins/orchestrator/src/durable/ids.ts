import { orchestrationErrors } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { IdSource } from '../state/ports.ts'

/** Kind of a numbered object. */
export type Numbered = 'task' | 'agent'

/** Range of ids: `next` to `end` - 1. */
export type IdRange = readonly [next: number, end: number]
export type IdRanges = Readonly<Record<Numbered, readonly IdRange[]>>

/** Ids without a database: no other process assigns any. */
export class MemoryIds implements IdSource {
  #task = 1
  #agent = 1

  task(): number {
    return this.#task++
  }

  agent(): number {
    return this.#agent++
  }

  ready(): null {
    return null
  }
}

/** Initial and maximum size of a block, and the number of ids that one command needs. */
const BLOCKS: Readonly<Record<Numbered, { readonly size: number; readonly max: number; readonly enough: number }>> = {
  task: { size: 32, max: 64_000, enough: 1 },
  agent: { size: 16, max: 1_024, enough: 8 }
}
/** If a block is used up faster than this, the next one is twice as large. */
const BRIEF_MS = 1_000

interface Block {
  ranges: [number, number][]
  left: number
  size: number
  takenAt: number
  /** Number of commands that wait for new ids. */
  waiting: number
  taking: Promise<void> | null
}

/**
 * Ids in blocks, from a counter that all processes of the repository share. A new block is fetched when more than half
 * of the last one is used. Blocks grow with the rate of use and the number of waiting commands. Small blocks leave only
 * small gaps if several processes work concurrently.
 */
export class IdBlocks implements IdSource {
  /** Takes `count` ids from the counter. Throws the database's errors. */
  readonly #take: (kind: Numbered, count: number) => Promise<IdRange>
  readonly #now: () => number
  readonly #blocks: Record<Numbered, Block>

  /** `now`: monotonic time in milliseconds. */
  constructor(take: (kind: Numbered, count: number) => Promise<IdRange>, now: () => number = () => performance.now()) {
    this.#take = take
    this.#now = now
    const block = (kind: Numbered): Block => ({
      ranges: [],
      left: 0,
      size: BLOCKS[kind].size,
      takenAt: Number.NEGATIVE_INFINITY,
      waiting: 0,
      taking: null
    })
    this.#blocks = { task: block('task'), agent: block('agent') }
  }

  task(): number {
    return this.#next('task')
  }

  agent(): number {
    return this.#next('agent')
  }

  /**
   * Starts to fetch ids if few are left. Returns null if a command can run now. Rejects with `ORC_NOT_DURABLE` if no ids
   * are left and the database is unavailable.
   */
  ready(): Promise<void> | null {
    const { task, agent } = this.#blocks
    if (task.left * 2 < task.size && task.taking === null) this.#refill('task')
    if (agent.left * 2 < agent.size && agent.taking === null) this.#refill('agent')
    const missing: Promise<void>[] = []
    for (const kind of ['task', 'agent'] as const) {
      const block = this.#blocks[kind]
      if (block.left >= BLOCKS[kind].enough || block.taking === null) continue
      block.waiting += 1
      missing.push(block.taking)
    }
    return missing.length === 0 ? null : Promise.all(missing).then(() => undefined)
  }

  /** Adds the stored unused ids of a seat. Invalid ranges are ignored. */
  add(ranges: Partial<IdRanges>): void {
    for (const kind of ['task', 'agent'] as const)
      for (const range of ranges[kind] ?? []) this.#add(this.#blocks[kind], range)
  }

  /** Returns the unused ids as JSON of {@link IdRanges}. */
  serialise(): string {
    return JSON.stringify({ task: this.#blocks.task.ranges, agent: this.#blocks.agent.ranges })
  }

  #next(kind: Numbered): number {
    const block = this.#blocks[kind]
    const range = block.ranges[0]
    if (range === undefined)
      throw orchestrationErrors.create(
        'ORC_NOT_DURABLE',
        `Database error: no id is left for a new ${kind}; more are being fetched from the database`,
        { hint: 'try again; svc db status shows whether the database responds' }
      )
    const id = range[0]
    range[0] += 1
    block.left -= 1
    if (range[0] === range[1]) block.ranges.shift()
    return id
  }

  #refill(kind: Numbered): void {
    const block = this.#blocks[kind]
    const { size, max } = BLOCKS[kind]
    const brief = this.#now() - block.takenAt < BRIEF_MS
    block.size = Math.min(Math.max(brief ? block.size * 2 : size, block.waiting), max)
    block.waiting = 0
    const taking = this.#take(kind, block.size).then(
      range => {
        block.takenAt = this.#now()
        this.#add(block, range)
      },
      cause => {
        throw orchestrationErrors.create(
          'ORC_NOT_DURABLE',
          `Database error: ids for a new ${kind} could not be fetched: ${errorMessage(cause)}`,
          { hint: 'svc db status shows whether the database responds', cause }
        )
      }
    )
    block.taking = taking.finally(() => {
      block.taking = null
    })
    // Waiting callers get the error through `ready`. While ids are left, no caller waits.
    block.taking.catch(() => {})
  }

  #add(block: Block, [next, end]: IdRange): void {
    if (!Number.isSafeInteger(next) || !Number.isSafeInteger(end) || next < 1 || end <= next) return
    block.left += end - next
    // Lower ids first, so that ids increase if possible.
    const ranges = [...block.ranges, [next, end] as [number, number]].sort((a, b) => a[0] - b[0])
    block.ranges = []
    for (const range of ranges) {
      const last = block.ranges.at(-1)
      if (last !== undefined && last[1] === range[0]) last[1] = range[1]
      else block.ranges.push(range)
    }
  }
}
