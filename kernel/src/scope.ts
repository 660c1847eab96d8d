import { setMaxListeners } from 'node:events'
import type { EffectNode } from '@svc/contracts'
import type { Disposer } from '@svc/plugin-sdk'
import { kernelErrors } from './errors.ts'

interface Entry {
  readonly label: string
  readonly dispose: Disposer
  readonly child?: Scope
}

export interface DisposeReport {
  readonly errors: readonly Error[]
  /** Labels of disposers that had not settled when the deadline passed. */
  readonly stuck: readonly string[]
}

/**
 * A labelled stack of things to undo.
 *
 * Disposal is last in, first out, one at a time, since a later effect may stand on an earlier one. A disposer that
 * throws does not stop the others; one that hangs is reported and left behind.
 */
export class Scope {
  readonly label: string
  readonly #entries: Entry[] = []
  readonly #controller = new AbortController()
  #closed = false

  constructor(label: string) {
    this.label = label
    // Every call in flight listens to it.
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
    const entry: Entry = { label, dispose, ...(child === undefined ? {} : { child }) }
    this.#entries.push(entry)
    return () => (this.#take(entry) ? dispose() : undefined)
  }

  child(label: string): Scope {
    const scope = new Scope(label)
    this.effect(label, async () => raise(label, await scope.dispose()), scope)
    return scope
  }

  /** Aborts the signal without disposing: tells background work to end. */
  abort(): void {
    this.#controller.abort()
  }

  async dispose(deadlineMs = 5_000): Promise<DisposeReport> {
    this.#closed = true
    this.#controller.abort()
    const errors: Error[] = []
    const stuck: string[] = []
    const deadline = Date.now() + deadlineMs
    for (let entry = this.#entries.pop(); entry !== undefined; entry = this.#entries.pop()) {
      try {
        const settled = await settleBefore(Promise.resolve(entry.dispose()), Math.max(deadline - Date.now(), 50))
        if (!settled) stuck.push(entry.label)
      } catch (error) {
        errors.push(error instanceof Error ? error : new Error(String(error)))
      }
    }
    return { errors, stuck }
  }

  tree(): EffectNode {
    return {
      label: this.label,
      children: this.#entries.map(entry => entry.child?.tree() ?? { label: entry.label, children: [] })
    }
  }

  #take(entry: Entry): boolean {
    const index = this.#entries.indexOf(entry)
    if (index >= 0) this.#entries.splice(index, 1)
    return index >= 0
  }
}

function raise(label: string, report: DisposeReport): void {
  const errors = [...report.errors, ...report.stuck.map(name => new Error(`disposer "${name}" did not settle`))]
  if (errors.length > 0) throw new AggregateError(errors, `disposing ${label}`)
}

/** False when the promise had not settled in time; its rejection after that is ignored. */
export async function settleBefore(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(resolve, milliseconds, false)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
