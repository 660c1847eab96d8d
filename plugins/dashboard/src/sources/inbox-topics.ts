import type { KernelPort } from '@svc/contracts'
import { INBOX_TOPIC } from '../operations.ts'
import type { Entries } from '../registry/entries.ts'

/**
 * Announces a change of the inbox whenever a topic of one of its sources changes. Watches them only while a page is open,
 * since sources may query other machines while their topics are watched.
 */
export class InboxTopics {
  readonly #kernel: KernelPort
  readonly #changed: () => void
  #topics: readonly string[] = []
  #hasPages = false
  #unsubscribe: () => void = () => {}

  constructor(kernel: KernelPort, changed: () => void) {
    this.#kernel = kernel
    this.#changed = changed
  }

  /** Adapts to the sources of a new generation. */
  follow({ inbox }: Entries): void {
    const { operations } = this.#kernel.current
    const topics = new Set(inbox.flatMap(({ item }) => operations.get(item.operation)?.descriptor.watch?.on ?? []))
    topics.delete(INBOX_TOPIC)
    this.#topics = [...topics]
    this.#subscribe()
    this.#changed()
  }

  /** Starts or stops watching. Call it when the first page is opened, and when the last one is closed. */
  watch(hasPages: boolean): void {
    this.#hasPages = hasPages
    this.#subscribe()
    // Changes before this call were not seen.
    if (hasPages) this.#changed()
  }

  close(): void {
    this.#hasPages = false
    this.#subscribe()
  }

  #subscribe(): void {
    this.#unsubscribe()
    this.#unsubscribe = this.#hasPages ? this.#kernel.topics.subscribe(this.#topics, this.#changed) : () => {}
  }
}
