import { MAX_EVENT_BYTES } from './event.ts'

/** Events and characters that may wait. At either limit a further event is dropped. */
const MAX_EVENTS = 4_096
const MAX_CHARACTERS = 16_777_216
/** Events and characters of one transaction. */
const MAX_BATCH = 256
const MAX_BATCH_CHARACTERS = 2_097_152
const MAX_DEPTH = 64
/** Characters that a value other than a text is counted as. */
const VALUE_CHARACTERS = 8

export interface QueuedEvent {
  readonly event: unknown
  /** Unix milliseconds of its arrival. */
  readonly at: number
  readonly characters: number
}

/** Bounded FIFO of events. Adding takes time proportional to the number of values of the event, not to their length. */
export class EventQueue {
  #events: QueuedEvent[] = []
  #characters = 0
  dropped = 0
  oversized = 0

  get length(): number {
    return this.#events.length
  }

  /** Adds an event. Returns false if it is too large or the queue is full. */
  add(event: unknown, at: number): boolean {
    const characters = charactersOf(event, MAX_EVENT_BYTES, 0)
    if (characters > MAX_EVENT_BYTES) {
      this.oversized += 1
      return false
    }
    if (this.#events.length >= MAX_EVENTS || this.#characters + characters > MAX_CHARACTERS) {
      this.dropped += 1
      return false
    }
    this.#events.push({ event, at, characters })
    this.#characters += characters
    return true
  }

  /** Removes and returns the oldest events: at least one, unless the queue is empty. */
  take(): readonly QueuedEvent[] {
    let count = 0
    let characters = 0
    for (const each of this.#events) {
      if (count > 0 && (count >= MAX_BATCH || characters + each.characters > MAX_BATCH_CHARACTERS)) break
      count += 1
      characters += each.characters
    }
    const batch = this.#events.slice(0, count)
    this.#events = this.#events.slice(count)
    this.#characters -= characters
    return batch
  }
}

/** Returns a lower bound of the event's JSON in characters. Stops above `limit`, so that no value is walked for long. */
function charactersOf(value: unknown, limit: number, depth: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return VALUE_CHARACTERS
  if (depth > MAX_DEPTH) return limit + 1
  let sum = 2
  for (const key in value) {
    sum += key.length + 1 + charactersOf((value as Record<string, unknown>)[key], limit - sum, depth + 1)
    if (sum > limit) break
  }
  return sum
}
