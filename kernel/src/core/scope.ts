import { setMaxListeners } from 'node:events'
import type { EffectNode } from '@svc/contracts'
import type { Disposer } from '@svc/plugin-sdk'
import { defined, settlesWithin } from '@svc/plugin-sdk'
import { kernelErrors } from './errors.ts'

interface Entry {
  readonly label: string
  readonly dispose: Disposer
  readonly child?: Scope
}

export interface DisposeReport {
  readonly errors: readonly Error[]
  /** Labels of disposers that did not settle within their time limit. */
  readonly stuck: readonly string[]
}

/** Minimum time limit of a disposer, even after the deadline. */
const MIN_DISPOSER_MS = 50

/**
 * Labelled stack of disposers.
 *
 * Disposers run one at a time, last in, first out, since a later effect may depend on an earlier one. A disposer that
 * throws does not stop the others. One that hangs is reported and abandoned.
 */
export class Scope {
  readonly label: string
  readonly #entries = new Set<Entry>()
  readonly #controller = new AbortController()
  #closed = false
  #disposal: Promise<DisposeReport> | undefined

  constructor(label: string) {
    this.label = label
    // A plugin may have any number of listeners, so Node's warning is disabled.
    setMaxListeners(0, this.#controller.signal)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Throws `KRN_SCOPE_CLOSED` once disposal has begun. */
  assertOpen(action: string): void {
    if (!this.#closed) return
    throw kernelErrors.create('KRN_SCOPE_CLOSED', `${this.label} is disposed and can no longer ${action}`, {
      plugin: this.label,
      hint: 'stop timers and background work when ctx.signal is aborted'
    })
  }

  /** Registers a disposer; the returned function disposes early, once. */
  effect(label: string, dispose: Disposer, child?: Scope): Disposer {
    this.assertOpen(`register "${label}"`)
    const entry: Entry = { label, dispose, ...defined({ child }) }
    this.#entries.add(entry)
    return () => (this.#entries.delete(entry) ? dispose() : undefined)
  }

  child(label: string): Scope {
    const scope = new Scope(label)
    this.effect(label, async () => raise(label, await scope.dispose()), scope)
    return scope
  }

  /** Disposes the scope within the deadline. Further calls wait for the first one. */
  dispose(deadlineMs = 5_000): Promise<DisposeReport> {
    if (this.#disposal === undefined) {
      this.#closed = true
      // Set before any disposer runs, since a disposer may call this again.
      this.#disposal = Promise.resolve().then(() => this.#disposeAll(deadlineMs))
      this.#controller.abort()
    }
    return this.#disposal
  }

  tree(): EffectNode {
    return {
      label: this.label,
      children: [...this.#entries].map(entry => entry.child?.tree() ?? { label: entry.label, children: [] })
    }
  }

  async #disposeAll(deadlineMs: number): Promise<DisposeReport> {
    const errors: Error[] = []
    const stuck: string[] = []
    const deadline = performance.now() + deadlineMs
    for (const entry of [...this.#entries].reverse()) {
      // An earlier disposer may have disposed this entry.
      if (!this.#entries.delete(entry)) continue
      try {
        const left = Math.max(deadline - performance.now(), MIN_DISPOSER_MS)
        if (!(await settlesWithin(left, Promise.resolve(entry.dispose())))) stuck.push(entry.label)
      } catch (error) {
        errors.push(error instanceof Error ? error : new Error(String(error)))
      }
    }
    return { errors, stuck }
  }
}

function raise(label: string, report: DisposeReport): void {
  const errors = [...report.errors, ...report.stuck.map(name => new Error(`disposer "${name}" did not settle`))]
  if (errors.length > 0) throw new AggregateError(errors, `disposing ${label}`)
}
