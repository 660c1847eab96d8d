import type { Coordination } from '@svc/contracts'
import { StoreProcess } from '../../plugins/coordination/test/process-store.ts'

/** A process with a store on a file, which is started again after it was killed. */
export class RestartedProcess {
  readonly #file: string
  #process: Promise<StoreProcess> | null = null
  readonly store: Coordination

  constructor(file: string) {
    this.#file = file
    this.store = new Proxy({} as Coordination, {
      get: (_, name) => {
        if (name === 'then') return undefined
        return async (...args: unknown[]) => {
          const process = await this.#running()
          const store = process.store(this.#file) as unknown as Record<string | symbol, (...args: unknown[]) => unknown>
          return store[name]?.(...args)
        }
      }
    })
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
    await new Promise(resolve => setTimeout(resolve, milliseconds))
    child.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await (await this.#process)?.close()
  }

  #running(): Promise<StoreProcess> {
    this.#process ??= StoreProcess.start()
    return this.#process
  }
}
