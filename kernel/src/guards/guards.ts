import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'
import { relative, sep } from 'node:path'
import { isPromise } from 'node:util/types'
import type { InstanceHooks } from '../core/plugin-source.ts'
import { framesOf } from './attribution.ts'
import { guardErrors } from './errors.ts'

/** Open resource of a plugin. */
export interface Resource {
  /** Returns the name for a leak report. Called late, since it may contain a port that is assigned after opening. */
  readonly label: () => string
  /** True while the resource is open. Default: until it is released. */
  readonly isOpen?: () => boolean
  readonly close: () => unknown
  /** True for a resource that ends after it ran once, such as a timeout. */
  readonly once?: boolean
}

interface Entry extends Resource {
  /** Stack of the opening call. V8 formats it on the first read, so only a leak pays for it. */
  readonly origin: { readonly stack?: string }
}

/** True inside a `ctx.keep` opener, whose resources may outlive the unit. */
const opening = new AsyncLocalStorage<true>()
let openings = 0

/**
 * Tracks the resources that one plugin instance opens: timers, servers, sockets, child processes, workers, watchers,
 * process listeners. The plugin's code sees wrappers instead of Node's functions.
 *
 * 1. While the plugin runs, resources that it closes are removed from the ledger.
 * 2. On disposal, after the plugin's own disposers, the remaining resources are closed, last first, and reported as
 *    leaks.
 * 3. Afterwards, opening a resource throws `LDR_CLOSED`.
 *
 * Resources that outlive a reload are an exception, since they keep running code of the instance that opened them. An
 * instance that opened one, or was called by an opener, continues to work after its disposal, and its pending one-shot
 * timers still fire. Open long-lived helpers of such a resource inside its opener.
 *
 * The guards cover only the plugin's own code: neither packages that it requires, nor globals other than timers and
 * `process`. They find leaks but are no sandbox: run an untrusted plugin with `isolation = "process"`.
 */
export class Guards {
  readonly plugin: string
  readonly #root: string
  readonly #hooks: InstanceHooks
  readonly #ledger = new Set<Entry>()
  #disposed = false
  #hasAdopted = false

  constructor(plugin: string, root: string, hooks: InstanceHooks) {
    this.plugin = plugin
    this.#root = root
    this.#hooks = hooks
  }

  /** Returns the labels of all open resources. */
  resources(): string[] {
    return [...this.#ledger].map(entry => entry.label())
  }

  /** Runs an opener. Resources opened in it, even by other plugins that it calls, do not count as leaks. */
  adopt<A>(open: () => A): A {
    this.#hasAdopted = true
    openings += 1
    // Node 20 and 22 run promises faster while no store is in use.
    const ended = (): void => {
      openings -= 1
      if (openings === 0) opening.disable()
    }
    let result: A
    try {
      result = opening.run(true, open)
    } catch (error) {
      ended()
      throw error
    }
    if (!isPromise(result)) ended()
    else result.then(ended, ended)
    return result
  }

  /** Returns whether a new resource must be tracked. Throws `LDR_CLOSED` if the plugin is disposed. */
  enter(action: string): boolean {
    if (openings > 0 && opening.getStore() === true) {
      this.#hasAdopted = true
      return false
    }
    if (!this.#disposed) return true
    if (this.#hasAdopted) return false
    throw this.closedError(action)
  }

  closedError(action: string): Error {
    return guardErrors.create('LDR_CLOSED', `${this.plugin} was disposed and can no longer call ${action}`, {
      plugin: this.plugin,
      hint: 'end loops and pending work when ctx.signal is aborted'
    })
  }

  refusal(action: string, hint: string): Error {
    return guardErrors.create('LDR_REFUSED', `${this.plugin} may not call ${action}`, { plugin: this.plugin, hint })
  }

  /** Adds a resource; the returned function removes it. `above`: the function that the plugin called. */
  track(resource: Resource, above: unknown): () => void {
    const origin = {}
    Error.captureStackTrace(origin, above as () => void)
    const entry: Entry = { ...resource, origin }
    this.#ledger.add(entry)
    return () => this.#ledger.delete(entry)
  }

  /**
   * Calls a callback of the plugin on behalf of Node. Reports its errors to the host, since no caller could catch them.
   */
  call(callback: unknown, self: unknown, given: readonly unknown[]): void {
    if (this.#disposed && !this.#hasAdopted) return
    try {
      const result: unknown = Reflect.apply(callback as () => unknown, self, given)
      if (isPromise(result)) result.catch(this.#hooks.onError)
    } catch (error) {
      this.#hooks.onError(error)
    }
  }

  /** Reports errors of an emitter's listeners to the host. Calls `seen` before each event. */
  contain(emitter: EventEmitter, seen?: (event: unknown, subject: unknown) => void): void {
    const emit = emitter.emit
    emitter.emit = (event: string, ...given: unknown[]): boolean => {
      seen?.(event, given[0])
      try {
        return emit.call(emitter, event, ...given)
      } catch (error) {
        this.#hooks.onError(error)
        // If a request handler threw, its client would wait forever.
        if (event === 'request') (given[1] as { destroy?: () => void } | undefined)?.destroy?.()
        return true
      }
    }
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    // Handles that a disposer just closed emit their `close` event in the next turn of the event loop.
    if (this.#ledger.size > 0) await new Promise(resolve => setImmediate(resolve))
    for (const entry of [...this.#ledger].reverse()) {
      if (!this.#ledger.has(entry) || (this.#hasAdopted && entry.once === true)) continue
      this.#ledger.delete(entry)
      if (entry.isOpen?.() ?? true) this.#hooks.onLeak(`${entry.label()}${this.#place(entry.origin.stack)}`)
      try {
        await entry.close()
      } catch (error) {
        this.#hooks.onError(error)
      }
    }
  }

  /** Formats the innermost stack frame in the plugin's own code, with a path relative to its package. */
  #place(stack: string | undefined): string {
    for (const frame of framesOf(stack)) {
      const path = relative(this.#root, frame.file)
      if (path !== '' && !path.startsWith('..') && !path.startsWith(`node_modules${sep}`))
        return ` (opened at ${path}:${frame.line})`
    }
    return ''
  }
}
