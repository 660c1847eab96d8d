import type { KernelPort } from '@svc/contracts'
import { INBOX_TOPIC } from '../operations.ts'
import type { Entries } from '../registry/entries.ts'

/** Announces a change of the inbox whenever a topic of one of its sources changes. */
export class InboxTopics {
  readonly #kernel: KernelPort
  readonly #changed: () => void
  #unsubscribe: () => void = () => {}

  constructor(kernel: KernelPort, changed: () => void) {
    this.#kernel = kernel
    this.#changed = changed
  }

  /** Adapts to the sources of a new generation. */
  follow({ inbox }: Entries): void {
    this.#unsubscribe()
    const { operations } = this.#kernel.current
    const topics = new Set(inbox.flatMap(({ item }) => operations.get(item.operation)?.descriptor.watch?.on ?? []))
    topics.delete(INBOX_TOPIC)
    this.#unsubscribe = this.#kernel.topics.subscribe([...topics], this.#changed)
    this.#changed()
  }

  close(): void {
    this.#unsubscribe()
  }
}
