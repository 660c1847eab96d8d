import { isDeepStrictEqual } from 'node:util'
import { MessageChannel } from 'node:worker_threads'
import { defined, SvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { BridgeEnd } from '../threads/bridge.ts'
import type { ProgramWorker } from '../threads/program-worker.ts'
import { type FromThread, type Load, PROGRESS } from './messages.ts'

/** A load request without the memory and the bridge that thread and main thread share. */
export type LoadParts = Omit<Load, 'kind' | 'bridge' | 'progress' | 'costs'>

/** A thread that loads a program. Loading may start before the new server does. */
export class LoadingThread {
  readonly worker: ProgramWorker
  readonly load: LoadParts
  /** Rejects if the program cannot be loaded. */
  readonly loaded: Promise<void>
  readonly progress = new Int32Array(new SharedArrayBuffer(4 * PROGRESS.SIZE))
  readonly costs: Int32Array
  /** The main thread's end of the bridge. */
  readonly bridge: BridgeEnd

  constructor(worker: ProgramWorker, load: LoadParts, endpoints: number) {
    this.worker = worker
    this.load = load
    this.costs = new Int32Array(new SharedArrayBuffer(4 * Math.max(1, endpoints)))
    const { port1, port2 } = new MessageChannel()
    const answered = new SharedArrayBuffer(4)
    this.bridge = { port: port1, answered }
    this.loaded = new Promise((resolve, reject) => {
      const onMessage = (message: FromThread): void => {
        if (!('kind' in message)) return
        if (message.kind === 'loaded') resolve()
        else if (message.kind === 'refused') {
          const { code, message: text, calls, hint } = message.error
          reject(new SvcError(code, text, { data: { calls }, ...defined({ hint }) }))
        } else return
        worker.off('message', onMessage)
      }
      worker.on('message', onMessage)
      worker.once('exit', () => {
        reject(runErrors.create('RUN_CRASHED', `${load.program.path}: the thread of the program ended`))
      })
    })
    // Avoids an unhandled rejection if no server starts.
    this.loaded.catch(() => undefined)
    const message: Load = {
      kind: 'load',
      ...load,
      progress: this.progress.buffer as SharedArrayBuffer,
      costs: this.costs.buffer as SharedArrayBuffer,
      bridge: { port: port2, answered }
    }
    worker.postMessage(message, [port2])
  }

  /** True if this is the given worker, and it loads the program with the same parameters. */
  is(worker: ProgramWorker, { program, ...others }: LoadParts): boolean {
    const { program: own, ...rest } = this.load
    return this.worker === worker && own === program && isDeepStrictEqual(rest, others)
  }
}
