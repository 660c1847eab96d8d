import type { CachePool, SavedStates } from './cache-pool.ts'
import type { CacheRow } from './cache-rows.ts'
import type { Job } from './job.ts'

/** Maximum number of snapshots of a model. */
export const MAX_SNAPSHOTS = 4

/** Saved states of a sequence at one length. */
export interface Snapshot {
  /** Tokens that the states summarise. */
  readonly tokens: readonly number[]
  /** Weights that computed the states; see {@link Job.weights}. */
  readonly weights: unknown
  readonly saved: SavedStates
}

/**
 * Copies of states that summarise the beginning of a sequence, such as those of linear attention.
 *
 * Keys and values of a row can be cut back to any length, but these states cannot. A prompt that shares only the
 * beginning of a row continues from a snapshot instead. When there is no room, the least recently used one is dropped.
 */
export class StateSnapshots {
  readonly #cache: CachePool
  /** The least recently used come first. */
  readonly #snapshots: Snapshot[] = []

  constructor(cache: CachePool) {
    this.#cache = cache
  }

  /** Saves the states of a row at its current length. */
  async take({ index, tokens, length, weights }: CacheRow): Promise<void> {
    if (this.#snapshots.some(one => one.weights === weights && one.tokens.length === length && begins(tokens, one)))
      return
    while (this.#snapshots.length >= MAX_SNAPSHOTS) this.#snapshots.shift()?.saved.release()
    const saved = await this.#cache.save(index)
    this.#snapshots.push({ tokens: tokens.slice(0, length), weights, saved })
  }

  /** Returns the longest snapshot of at most `limit` tokens with which the job's tokens begin. */
  best({ tokens, weights }: Pick<Job, 'tokens' | 'weights'>, limit: number): Snapshot | null {
    let best: Snapshot | null = null
    for (const snapshot of this.#snapshots) {
      const { length } = snapshot.tokens
      if (length > limit || length <= (best?.tokens.length ?? 0)) continue
      if (snapshot.weights === weights && begins(tokens, snapshot)) best = snapshot
    }
    return best
  }

  /** Sets the states of a row to those of a snapshot. */
  async restore(snapshot: Snapshot, row: number): Promise<void> {
    const at = this.#snapshots.indexOf(snapshot)
    this.#snapshots.push(...this.#snapshots.splice(at, 1))
    await this.#cache.restore(snapshot.saved, row)
  }

  release(): void {
    for (const { saved } of this.#snapshots.splice(0)) saved.release()
  }
}

function begins(tokens: readonly number[], snapshot: Snapshot): boolean {
  return snapshot.tokens.every((token, i) => token === tokens[i])
}
