import type { PluginState } from '@svc/contracts'

/** Allowed transitions. Any other transition is a bug in the kernel and throws. */
export const TRANSITIONS: Readonly<Record<PluginState, readonly PluginState[]>> = {
  discovered: ['invalid', 'disabled', 'resolved', 'waiting'],
  invalid: ['discovered'],
  disabled: ['discovered', 'invalid', 'resolved', 'waiting'],
  resolved: ['discovered', 'invalid', 'disabled', 'waiting', 'loading'],
  waiting: ['discovered', 'invalid', 'disabled', 'resolved'],
  loading: ['activating', 'failed', 'disposed'],
  activating: ['active', 'failed', 'disposed'],
  active: ['degraded', 'draining', 'failed'],
  degraded: ['active', 'draining', 'failed'],
  draining: ['disposed', 'stuck'],
  disposed: ['discovered'],
  stuck: ['disposed', 'discovered'],
  failed: ['loading', 'quarantined', 'disposed', 'discovered', 'draining'],
  quarantined: ['discovered']
}

/** States in which a unit accepts calls. */
export const SERVING: ReadonlySet<PluginState> = new Set(['active', 'degraded'])

export class Lifecycle {
  #state: PluginState
  readonly #subject: string
  readonly #onChange: ((state: PluginState) => void) | undefined

  constructor(subject: string, initial: PluginState = 'discovered', onChange?: (state: PluginState) => void) {
    this.#subject = subject
    this.#state = initial
    this.#onChange = onChange
  }

  get state(): PluginState {
    return this.#state
  }

  /** Changes the state. A transition to the same state has no effect; throws if the transition is not allowed. */
  to(next: PluginState): void {
    if (next === this.#state) return
    if (!TRANSITIONS[this.#state].includes(next))
      throw new Error(`${this.#subject} cannot go from ${this.#state} to ${next}`)
    this.#state = next
    this.#onChange?.(next)
  }
}
