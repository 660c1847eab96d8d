import { orchestrationErrors } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { IdSource } from '../state/ports.ts'

/** Kind of a numbered object. */
export type Numbered = 'task' | 'agent'

/** Ids from the first to before the second. */
export type IdRange = readonly [next: number, end: number]
export type IdRanges = Readonly<Record<Numbered, readonly IdRange[]>>

/** Without a database there is no other process that assigns ids. */
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

/** Size of a block of ids, and the number that one command needs. */
const BLOCKS: Readonly<Record<Numbered, { readonly size: number; readonly most: number; readonly enough: number }>> = {
  task: { size: 32, most: 64_000, enough: 1 },
  agent: { size: 16, most: 1_024, enough: 8 }
}
/** Blocks that last shorter than this are doubled. */
const BRIEF_MS = 1_000

interface Block {
  ranges: [number, number][]
  left: number
  size: number
  takenAt: number
  /** Commands that wait for the next ones. */
  waiting: number
  taking: Promise<void> | null
}

/**
 * Ids in blocks, from a counter that all processes of the repository share. A new block is fetched when half of the
 * last one is used. Blocks grow with the rate of use and the number of waiting commands. Small blocks leave small
 * gaps when another process works concurrently.
 */
export class IdBlocks implements IdSource {
  /** Takes that many from the counter. Throws the errors of the database. */
  readonly #take: (what: Numbered, count: number) => Promise<IdRange>
  readonly #now: () => number
  readonly #blocks: Record<Numbered, Block>

  /** `now` in milliseconds, going forward only. */
  constructor(take: (what: Numbered, count: number) => Promise<IdRange>, now: () => number = () => performance.now()) {
    this.#take = take
    this.#now = now
    const block = (what: Numbered): Block => ({
      ranges: [],
      left: 0,
      size: BLOCKS[what].size,
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

  /** Rejects with `ORC_NOT_DURABLE` if no ids are left and the database is unavailable. */
  ready(): Promise<void> | null {
    const { task, agent } = this.#blocks
    if (task.left * 2 < task.size && task.taking === null) this.#refill('task')
    if (agent.left * 2 < agent.size && agent.taking === null) this.#refill('agent')
    const missing: Promise<void>[] = []
    for (const what of ['task', 'agent'] as const) {
      const block = this.#blocks[what]
      if (block.left >= BLOCKS[what].enough || block.taking === null) continue
      block.waiting += 1
      missing.push(block.taking)
    }
    return missing.length === 0 ? null : Promise.all(missing).then(() => undefined)
  }

  /** Remaining ids of a seat, as stored in the database. Incomplete ranges are left out. */
  add(ranges: Partial<IdRanges>): void {
    for (const what of ['task', 'agent'] as const)
      for (const range of ranges[what] ?? []) this.#add(this.#blocks[what], range)
  }

  /** JSON of {@link IdRanges}: the unused ids. */
  serialise(): string {
    return JSON.stringify({ task: this.#blocks.task.ranges, agent: this.#blocks.agent.ranges })
  }

  #next(what: Numbered): number {
    const block = this.#blocks[what]
    const range = block.ranges[0]
    if (range === undefined)
      throw orchestrationErrors.create(
        'ORC_NOT_DURABLE',
        `Database error: there is no id for another ${what}; more are taken from the database`,
        { hint: 'try again; svc db status says whether the database answers' }
      )
    const id = range[0]
    range[0] += 1
    block.left -= 1
    if (range[0] === range[1]) block.ranges.shift()
    return id
  }

  #refill(what: Numbered): void {
    const block = this.#blocks[what]
    const { size, most } = BLOCKS[what]
    const brief = this.#now() - block.takenAt < BRIEF_MS
    block.size = Math.min(Math.max(brief ? block.size * 2 : size, block.waiting), most)
    block.waiting = 0
    const taking = this.#take(what, block.size).then(
      range => {
        block.takenAt = this.#now()
        this.#add(block, range)
      },
      cause => {
        throw orchestrationErrors.create(
          'ORC_NOT_DURABLE',
          `Database error: no ids for another ${what} could be taken: ${errorMessage(cause)}`,
          { hint: 'svc db status says whether the database answers', cause }
        )
      }
    )
    block.taking = taking.finally(() => {
      block.taking = null
    })
    // A waiting caller learns of a failure; while ids are left, no caller waits.
    block.taking.catch(() => {})
  }

  #add(block: Block, [next, end]: IdRange): void {
    if (!Number.isSafeInteger(next) || !Number.isSafeInteger(end) || next < 1 || end <= next) return
    block.left += end - next
    // Lower ones first, so that numbers increase where possible.
    const ranges = [...block.ranges, [next, end] as [number, number]].sort((a, b) => a[0] - b[0])
    block.ranges = []
    for (const range of ranges) {
      const last = block.ranges.at(-1)
      if (last !== undefined && last[1] === range[0]) last[1] = range[1]
      else block.ranges.push(range)
    }
  }
}
