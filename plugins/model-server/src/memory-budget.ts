import { totalmem } from 'node:os'
import type { LoadedModel } from '@svc/contracts'
import { errors } from './errors.ts'
import type { KeptWeights } from './kept-weights.ts'

/** Part of the machine's memory that models may use by default. */
const DEFAULT_PART = 0.8

interface Member {
  /** Name for messages. */
  readonly name: string
  /** Names that the model was added with and not removed. */
  uses: number
  /** Bytes that a running load will need. */
  reserved: number
  /** Bytes of the model that is being closed. */
  leaving: number
  /** Resolves when that memory is free. */
  left: Promise<void>
}

/**
 * Memory that all models share. Before a load, it evicts idle models, least recently used first. Models that requests
 * use are never evicted.
 */
export class MemoryBudget {
  readonly #limit: () => number
  readonly #members = new Map<KeptWeights, Member>()

  /** `limit` returns bytes. */
  constructor(limit: () => number) {
    this.#limit = limit
  }

  /**
   * Adds a model that may be loaded. Its name is the first that it was added with. Returns a function that removes it,
   * to be called once it is unloaded.
   */
  add(weights: KeptWeights, name: string): () => void {
    const member: Member = this.#members.get(weights) ?? {
      name,
      uses: 0,
      reserved: 0,
      leaving: 0,
      left: Promise.resolve()
    }
    member.uses += 1
    this.#members.set(weights, member)
    const unwatch = weights.watch({
      loaded: () => {
        member.reserved = 0
      },
      unloaded: ({ model }, closed) => {
        const free = (): void => {
          member.leaving = 0
        }
        member.leaving = memoryOf(model)
        member.left = closed.then(free, free)
      }
    })
    return () => {
      unwatch()
      member.uses -= 1
      if (member.uses === 0) this.#members.delete(weights)
    }
  }

  /** Models that may be loaded. */
  get size(): number {
    return this.#members.size
  }

  /**
   * Evicts models until one of `needed` bytes fits. Reserves these until the model is loaded, or until the returned
   * function is called. A model that exceeds the limit by itself is allowed if no other is loaded: the engine decides.
   *
   * Throws `MSV_MEMORY`, with the models that would have to go; then nothing was evicted.
   */
  async makeRoom(weights: KeptWeights, needed: number): Promise<() => void> {
    for (;;) {
      const limit = this.#limit()
      const others = [...this.#members]
        .filter(([each]) => each !== weights)
        .map(([each, member]) => stateOf(each, member))
      const present = others.filter(({ bytes }) => bytes > 0)
      if (present.length === 0 || sumOf(present) + needed <= limit) return this.#reserve(weights, needed)
      const leaving = present.filter(({ left }) => left !== null)
      if (leaving.length > 0) {
        await Promise.all(leaving.map(({ left }) => left))
        continue
      }
      const busy = present.filter(({ evictable }) => !evictable)
      if (busy.length > 0 && sumOf(busy) + needed > limit) throw tooLarge(this.#nameOf(weights), needed, limit, busy)
      const [oldest] = present.filter(({ evictable }) => evictable).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt)
      await oldest?.weights.evict()
    }
  }

  #reserve(weights: KeptWeights, needed: number): () => void {
    const member = this.#members.get(weights)
    if (member === undefined) return () => undefined
    member.reserved = needed
    return () => {
      member.reserved = 0
    }
  }

  #nameOf(weights: KeptWeights): string {
    return this.#members.get(weights)?.name ?? ''
  }
}

interface MemberState {
  readonly weights: KeptWeights
  readonly name: string
  readonly bytes: number
  readonly evictable: boolean
  /** Resolves when the model has been closed; null if it is not being closed. */
  readonly left: Promise<void> | null
  readonly lastUsedAt: number
}

function stateOf(weights: KeptWeights, { name, reserved, leaving, left }: Member): MemberState {
  const { loaded, inUse, lastUsedAt } = weights
  const bytes = leaving + (loaded === undefined ? reserved : memoryOf(loaded.model))
  return {
    weights,
    name,
    bytes,
    left: leaving > 0 ? left : null,
    evictable: loaded !== undefined && !inUse,
    lastUsedAt
  }
}

function sumOf(members: readonly MemberState[]): number {
  return members.reduce((sum, { bytes }) => sum + bytes, 0)
}

function tooLarge(name: string, needed: number, limit: number, busy: readonly MemberState[]): Error {
  const users = busy.map(each => `'${each.name}' (${gigabytes(each.bytes)})`).join(', ')
  return errors.create(
    'MSV_MEMORY',
    `the model '${name}' needs ${gigabytes(needed)} of the ${gigabytes(limit)} for models; these are in use and would have to go: ${users}`,
    {
      data: { needed, limit, in_use: busy.map(each => each.name) },
      hint: 'Try again when their requests have ended, or raise the setting plugins.model-server.memory_limit_bytes.'
    }
  )
}

/** Returns a size such as `1.4 GB`. */
export function gigabytes(bytes: number): string {
  return bytes >= 1e8 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(1)} MB`
}

/** Returns the memory of a loaded model, in bytes. */
export function memoryOf(model: Pick<LoadedModel, 'statistics'>): number {
  const { weightBytes, cacheBytes } = model.statistics()
  return weightBytes + cacheBytes
}

/** Returns the default limit in bytes: a part of the memory of the machine, or of its container. */
export function defaultMemoryLimit(): number {
  const constrained = process.constrainedMemory()
  const total = totalmem()
  return Math.floor(DEFAULT_PART * (constrained > 0 && constrained < total ? constrained : total))
}
