import { isDeepStrictEqual } from 'node:util'
import { MessageChannel } from 'node:worker_threads'
import { defined, SvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { BridgeEnd } from '../threads/bridge.ts'
import type { ProgramWorker } from '../threads/program-worker.ts'
import { type FromThread, type Load, PROGRESS } from './messages.ts'

/** Load request of a thread, without the state shared with its listener. */
export type LoadParts = Omit<Load, 'kind' | 'bridge' | 'progress' | 'costs'>

/** A thread that loads a program. It may start before a server listens to it. */
export class LoadingThread {
  readonly worker: ProgramWorker
  readonly load: LoadParts
  /** Throws if the program cannot be loaded. */
  readonly loaded: Promise<void>
  readonly progress = new Int32Array(new SharedArrayBuffer(4 * PROGRESS.SIZE))
  readonly costs: Int32Array
  /** The main thread's end. */
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
    // The server sends requests; without serving there is no server.
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

  /** True if this thread loads exactly that program. */
  is(worker: ProgramWorker, { program, ...others }: LoadParts): boolean {
    const { program: own, ...rest } = this.load
    return this.worker === worker && own === program && isDeepStrictEqual(rest, others)
  }
}
