import { Worker } from 'node:worker_threads'
import { inferenceErrors } from '../errors.ts'
import type { ElementType } from '../onnx/graph.ts'
import {
  type Binding,
  type Bindings,
  type CacheRange,
  type CacheRow,
  elementCount,
  type HostArrays,
  type HostTensor,
  type OrtSession,
  type Runtime,
  type SessionOptions,
  type Tensor
} from './runtime.ts'
import { type WorkerMessage, type WorkerReply, workerMain } from './worker-main.ts'

/** Source of the worker. Defines `__name`, in which some TypeScript loaders wrap named functions. */
const SOURCE = `
'use strict'
const __name = value => value
const { parentPort, workerData } = require('node:worker_threads')
const workerMain = ${workerMain.toString()}
workerMain(parentPort, require(workerData.module))
`

type Call = WorkerMessage & { readonly call: number }
type WithoutCall<M> = M extends Call ? Omit<M, 'call'> : never

/**
 * ONNX Runtime through its JavaScript interface in a worker thread, for machines on which the C interface cannot be
 * called.
 *
 * Results are the same. Runs are slower, because the package copies every output, including the cache. Runs cannot be
 * interrupted.
 */
export class WorkerRuntime implements Runtime {
  readonly name: string
  readonly #worker: Worker
  readonly #pending = new Map<number, { resolve(): void; reject(error: unknown): void }>()
  #next = 0
  #gone: string | null = null

  /** `module`: absolute path of the entry of ONNX Runtime's package. */
  constructor(module: string, version: string) {
    this.name = `onnxruntime ${version} (worker)`
    this.#worker = new Worker(SOURCE, { eval: true, workerData: { module }, execArgv: [] })
    this.#worker.unref()
    this.#worker.on('message', (reply: WorkerReply) => this.#settle(reply))
    this.#worker.on('error', error => this.#fail(`ended with an error: ${error.message}`))
    this.#worker.on('exit', () => this.#fail('ended'))
  }

  host<T extends ElementType>(type: T, shape: readonly number[]): HostTensor<T> {
    const id = this.#id()
    const data = sharedArray(type, elementCount(shape))
    this.#post({ op: 'host', tensor: id, type, shape, data })
    return new WorkerTensor(id, shape, data, () => this.#post({ op: 'releaseTensor', tensor: id }))
  }

  async state(shape: readonly number[]): Promise<Tensor> {
    const id = this.#id()
    this.#post({ op: 'state', tensor: id, shape })
    return new WorkerTensor(id, shape, null, () => this.#post({ op: 'releaseTensor', tensor: id }))
  }

  async constant(shape: readonly number[], values: Float32Array): Promise<Tensor> {
    const id = this.#id()
    this.#post({ op: 'constant', tensor: id, shape, values })
    return new WorkerTensor(id, shape, null, () => this.#post({ op: 'releaseTensor', tensor: id }))
  }

  view<T extends Tensor>(tensor: T, start: number, count: number): T {
    const whole = tensor as Tensor as WorkerTensor<HostArrays[ElementType] | null>
    const shape = [count, ...whole.shape.slice(1)]
    const size = elementCount(shape.slice(1))
    const data = whole.data?.subarray(start * size, (start + count) * size) ?? null
    const id = this.#id()
    this.#post({ op: 'view', tensor: id, of: whole.id, start, count })
    const view: Tensor = new WorkerTensor(id, shape, data, () => this.#post({ op: 'releaseTensor', tensor: id }))
    return view as T
  }

  async copy(from: CacheRange, to: CacheRow): Promise<void> {
    const id = ({ state }: CacheRow) => (state as WorkerTensor<unknown>).id
    const { start, end } = from
    this.#post({ op: 'copy', from: id(from), to: id(to), fromRow: from.row, toRow: to.row, start, end })
  }

  async createSession({ model, weights, threads }: SessionOptions): Promise<OrtSession> {
    const session = this.#id()
    const inMemory = [...(weights?.inMemory ?? [])]
    await this.#call({ op: 'createSession', session, model, folder: weights?.folder ?? null, inMemory, threads })
    return {
      bind: (inputs, outputs) => this.#bind(session, inputs, outputs),
      close: () => this.#call({ op: 'closeSession', session })
    }
  }

  /**
   * Ends the worker after the current run: ending it during a run would crash the process.
   */
  async close(): Promise<void> {
    if (this.#gone !== null) return
    const ended = new Promise<unknown>(resolve => this.#worker.once('exit', resolve))
    this.#worker.ref()
    this.#post({ op: 'end' })
    await ended
  }

  #id(): number {
    return this.#next++
  }

  #post(message: WorkerMessage): void {
    if (this.#gone === null) this.#worker.postMessage(message)
  }

  #call(message: WithoutCall<Call>): Promise<void> {
    if (this.#gone !== null) return Promise.reject(this.#error(this.#gone))
    const call = this.#id()
    return new Promise((resolve, reject) => {
      this.#pending.set(call, { resolve, reject })
      this.#worker.ref()
      this.#worker.postMessage({ ...message, call })
    })
  }

  #bind(session: number, inputs: Bindings, outputs: Bindings): Binding {
    const binding = this.#id()
    this.#post({ op: 'bind', binding, session, inputs: toIds(inputs), outputs: toIds(outputs) })
    return {
      run: async signal => {
        signal?.throwIfAborted()
        await this.#call({ op: 'run', binding })
      },
      release: () => this.#post({ op: 'releaseBinding', binding })
    }
  }

  #settle({ call, error }: WorkerReply): void {
    const pending = this.#pending.get(call)
    this.#pending.delete(call)
    if (this.#pending.size === 0) this.#worker.unref()
    if (error === undefined) pending?.resolve()
    else pending?.reject(this.#error(error))
  }

  #fail(reason: string): void {
    this.#gone ??= `The worker thread ${reason}`
    for (const { reject } of this.#pending.values()) reject(this.#error(this.#gone))
    this.#pending.clear()
  }

  #error(message: string) {
    return inferenceErrors.create('INF_RUNTIME_FAILED', `${this.name}: ${message}`, { data: { runtime: 'worker' } })
  }
}

class WorkerTensor<D> implements Tensor {
  /** Id in the worker. */
  readonly id: number
  readonly shape: readonly number[]
  readonly data: D
  readonly release: () => void

  constructor(id: number, shape: readonly number[], data: D, release: () => void) {
    this.id = id
    this.shape = shape
    this.data = data
    this.release = release
  }
}

function toIds(bindings: Bindings): (readonly [string, number])[] {
  return Object.entries(bindings).map(([name, tensor]) => [name, (tensor as WorkerTensor<unknown>).id])
}

function sharedArray<T extends ElementType>(type: T, length: number): HostArrays[T] {
  const arrays = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array } as const
  const Arrays = arrays[type] as new (buffer: SharedArrayBuffer) => unknown
  return new Arrays(new SharedArrayBuffer(length * arrays[type].BYTES_PER_ELEMENT)) as HostArrays[T]
}
