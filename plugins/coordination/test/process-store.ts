import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Coordination } from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import type { StoreCall, StoreReply } from './serve-stores.ts'

export interface StoreProcessOptions {
  /** Script that serves stores; default: stores on files. */
  readonly script?: string
  /** Environment variables, in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** Child process with coordination stores. Calls reject when the process ends. */
export class StoreProcess {
  readonly child: ChildProcess
  readonly #pending = new Map<number, { resolve(result: unknown): void; reject(error: unknown): void }>()
  #calls = 0

  private constructor(child: ChildProcess) {
    this.child = child
    child.on('message', (reply: StoreReply | 'ready') => {
      if (reply === 'ready') return
      const pending = this.#pending.get(reply.id)
      this.#pending.delete(reply.id)
      if (reply.ok) pending?.resolve(reply.result)
      else pending?.reject(reply.code === null ? new Error(reply.message) : new SvcError(reply.code, reply.message))
    })
    child.once('exit', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the process ended during the call'))
      this.#pending.clear()
    })
  }

  static async start({ script, env = {} }: StoreProcessOptions = {}): Promise<StoreProcess> {
    const child = fork(script ?? join(import.meta.dirname, 'store-child.ts'), [], {
      execArgv: [...CHILD_ARGUMENTS],
      env: { ...process.env, ...env },
      // Undefined values and NaN of parameters must arrive as they are.
      serialization: 'advanced'
    })
    const started = new StoreProcess(child)
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the process ended with ${code}`)))
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => {})
    return started
  }

  /** Opens a store at its first call. */
  store(name: string): Coordination {
    return this.#proxy(name, '') as Coordination
  }

  async closeStore(name: string): Promise<void> {
    await this.#call(name, 'close', [])
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, 'exit')
    this.child.disconnect()
    await ended
  }

  async kill(): Promise<void> {
    const ended = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await ended
  }

  #proxy(store: string, prefix: string): unknown {
    return new Proxy(
      {},
      {
        get: (_, name) => {
          // A promise that resolves to the proxy looks for this.
          if (name === 'then') return undefined
          if (name === 'nodes' || name === 'meta') return this.#proxy(store, `${name}.`)
          // Hints do not leave the process: as if all of them were lost.
          if (name === 'hints') return () => () => {}
          return (...args: unknown[]) => this.#call(store, `${prefix}${String(name)}`, args)
        }
      }
    )
  }

  #call(name: string, method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#calls += 1
      const call: StoreCall = { id: this.#calls, name, method, args }
      this.#pending.set(call.id, { resolve, reject })
      this.child.send(call, error => {
        if (error === null) return
        this.#pending.delete(call.id)
        reject(error)
      })
    })
  }
}
