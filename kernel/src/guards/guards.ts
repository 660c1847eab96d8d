import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'
import { relative, sep } from 'node:path'
import { isPromise } from 'node:util/types'
import type { InstanceHooks } from '../core/plugin-source.ts'
import { framesOf } from './attribution.ts'
import { guardErrors } from './errors.ts'

/** An open resource of a plugin. */
export interface Resource {
  /** Name in a leak report; read late, when for example the port is known. */
  readonly label: () => string
  /** Whether it still holds anything; without it, until it is released. */
  readonly isOpen?: () => boolean
  readonly close: () => unknown
  /** Ends by itself after it ran once: a timeout. */
  readonly once?: boolean
}

interface Entry extends Resource {
  /** Where it was opened; formatted only when it leaked. */
  readonly origin: { readonly stack?: string }
}

/** True inside an opener whose resources may outlive the unit. */
const opening = new AsyncLocalStorage<true>()
let openings = 0

/**
 * The ledger of what one instance of a plugin opened through the functions that its code sees instead of Node's:
 * timers, servers, sockets, child processes, workers, watchers, process listeners.
 *
 * 1. While the plugin runs, resources that it closes leave the ledger. 2. On disposal, after the plugin's own disposers, the rest is closed, last first, and reported as leaked.
 * 3. From then on opening anything throws `LDR_CLOSED`.
 *
 * The exception are resources that outlive a reload, which keep running code of the instance that opened them. An
 * instance that opened one, or was called by an opener, continues to work after its disposal, and pending one-shot
 * timers are left to fire; open long-lived helpers of such a resource inside its opener.
 *
 * The guards cover the plugin's own code: not the packages that it requires, and no globals except timers and `process`.
 * They find leaks and do not confine: run an untrusted plugin with `isolation = "process"`.
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

  /** Labels of what is open now. */
  resources(): string[] {
    return [...this.#ledger].map(entry => entry.label())
  }

  /** Runs an opener. Its resources, and those of every plugin that it calls, do not count as leaks. */
  adopt<A>(open: () => A): A {
    this.#hasAdopted = true
    openings += 1
    // Without a store in use, Node 20 and 22 run promises at full speed.
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

  /** Checks whether a resource may be opened. False if it may, but is not tracked. Throws `LDR_CLOSED`. */
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

  /** Adds a resource to the ledger; the returned function removes it. `above`: the function the plugin called. */
  track(resource: Resource, above: unknown): () => void {
    const origin = {}
    Error.captureStackTrace(origin, above as () => void)
    const entry: Entry = { ...resource, origin }
    this.#ledger.add(entry)
    return () => this.#ledger.delete(entry)
  }

  /** Calls a callback of the plugin for Node. Its errors go to the host, since no caller could catch them. */
  call(callback: unknown, self: unknown, given: readonly unknown[]): void {
    if (this.#disposed && !this.#hasAdopted) return
    try {
      const result: unknown = Reflect.apply(callback as () => unknown, self, given)
      if (isPromise(result)) result.catch(this.#hooks.onError)
    } catch (error) {
      this.#hooks.onError(error)
    }
  }

  /** Sends errors of an emitter's listeners to the host. Calls `seen` with every event first. */
  contain(emitter: EventEmitter, seen?: (event: unknown, subject: unknown) => void): void {
    const emit = emitter.emit
    emitter.emit = (event: string, ...given: unknown[]): boolean => {
      seen?.(event, given[0])
      try {
        return Reflect.apply(emit, emitter, [event, ...given]) as boolean
      } catch (error) {
        this.#hooks.onError(error)
        // A request whose handler threw would wait forever.
        if (event === 'request') (given[1] as { destroy?: () => void } | undefined)?.destroy?.()
        return true
      }
    }
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    // Handles that disposers have just closed emit their end in the next turn.
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

  /** The plugin's own innermost line in a stack, relative to its package. */
  #place(stack: string | undefined): string {
    for (const frame of framesOf(stack)) {
      const path = relative(this.#root, frame.file)
      if (path !== '' && !path.startsWith('..') && !path.startsWith(`node_modules${sep}`))
        return ` (opened at ${path}:${frame.line})`
    }
    return ''
  }
}
