import type { AgentEvent, Orchestrator } from '@svc/contracts'
import { isSvcError, type Ref } from '@svc/plugin-sdk'

/** Subscription to the events of the current orchestrator, if there is one. */
export class EventFeed {
  readonly #orchestrator: Ref<Orchestrator> | undefined
  readonly #onEvent: (event: AgentEvent) => void
  #current: Orchestrator | null = null
  #end: (() => void) | null = null

  constructor(orchestrator: Ref<Orchestrator> | undefined, onEvent: (event: AgentEvent) => void) {
    this.#orchestrator = orchestrator
    this.#onEvent = onEvent
  }

  /** Subscribes to the current orchestrator. Called after every change of plugins. */
  follow(): void {
    const next = this.#lookUp()
    if (next === this.#current) return
    this.#end?.()
    this.#current = next
    this.#end = next === null ? null : next.subscribe(this.#onEvent)
  }

  close(): void {
    this.#end?.()
    this.#end = null
    this.#current = null
  }

  #lookUp(): Orchestrator | null {
    try {
      return this.#orchestrator?.current ?? null
    } catch (error) {
      if (isSvcError(error, 'KRN_SERVICE_GONE')) return null
      throw error
    }
  }
}
