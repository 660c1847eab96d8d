import { inferenceErrors } from './errors.ts'

interface Waiting {
  grant(slot: number): void
}

/** Hands out a fixed number of slots, first come first served, with a bounded waiting room. */
export class SlotPool {
  readonly size: number
  readonly #maxWaiting: number
  readonly #free: number[]
  readonly #waiting = new Set<Waiting>()

  constructor(size: number, maxWaiting: number) {
    this.size = size
    this.#maxWaiting = maxWaiting
    this.#free = Array.from({ length: size }, (_, slot) => slot)
  }

  get active(): number {
    return this.size - this.#free.length
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** The slot, or null when `signal` was aborted first. Throws `INF_BUSY` when the waiting room is full. */
  async acquire(signal: AbortSignal): Promise<number | null> {
    if (signal.aborted) return null
    const slot = this.#free.shift()
    if (slot !== undefined) return slot
    if (this.#waiting.size >= this.#maxWaiting) throw this.#busy()
    return new Promise(resolve => {
      const leave = () => {
        this.#waiting.delete(entry)
        resolve(null)
      }
      const entry = {
        grant: (granted: number) => {
          signal.removeEventListener('abort', leave)
          resolve(granted)
        }
      }
      this.#waiting.add(entry)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  release(slot: number): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free.push(slot)
      return
    }
    this.#waiting.delete(next)
    next.grant(slot)
  }

  #busy() {
    return inferenceErrors.create(
      'INF_BUSY',
      `All ${this.size} slots are taken and ${this.#waiting.size} requests wait already`,
      {
        data: { slots: this.size, waiting: this.#waiting.size },
        hint: 'Try again later, or load the model with more slots.'
      }
    )
  }
}
