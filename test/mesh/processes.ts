import { setTimeout as sleep } from 'node:timers/promises'
import type { Coordination } from '@svc/contracts'
import { StoreProcess, type StoreProcessOptions } from '../../plugins/coordination/test/process-store.ts'

/** A process with coordination stores, which is started again after it was killed. */
export class RestartedProcess {
  readonly #options: StoreProcessOptions
  #process: Promise<StoreProcess> | null = null

  constructor(options: StoreProcessOptions = {}) {
    this.#options = options
  }

  /** Returns a store of the process that runs at the time of each call. */
  store(name: string): Coordination {
    return new Proxy({} as Coordination, {
      get: (_, method) => {
        // A promise that resolves to the proxy looks for this.
        if (method === 'then') return undefined
        return async (...args: unknown[]) => {
          const process = await this.#running()
          const store = process.store(name) as unknown as Record<string | symbol, (...args: unknown[]) => unknown>
          return store[method]?.(...args)
        }
      }
    })
  }

  async start(): Promise<void> {
    await this.#running()
  }

  async kill(): Promise<void> {
    const process = await this.#running()
    this.#process = null
    await process.kill()
  }

  /** Stops the process as if its host had been suspended. */
  async pause(milliseconds: number): Promise<void> {
    const { child } = await this.#running()
    child.kill('SIGSTOP')
    await sleep(milliseconds)
    child.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await (await this.#process)?.close()
  }

  #running(): Promise<StoreProcess> {
    this.#process ??= StoreProcess.start(this.#options)
    return this.#process
  }
}
