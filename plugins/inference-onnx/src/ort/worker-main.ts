import type { InferenceSession, Tensor } from 'onnxruntime-node'
import type { ElementType } from '../onnx/graph.ts'

type HostArray = Float32Array | Int32Array | BigInt64Array

/** Messages to the worker. Numbers are ids that the sender chooses. */
export type WorkerMessage =
  | {
      readonly op: 'host'
      readonly tensor: number
      readonly type: ElementType
      readonly shape: readonly number[]
      readonly data: HostArray
    }
  | { readonly op: 'state'; readonly tensor: number; readonly shape: readonly number[] }
  | {
      readonly op: 'constant'
      readonly tensor: number
      readonly shape: readonly number[]
      readonly values: Float32Array
    }
  | {
      readonly op: 'view'
      readonly tensor: number
      readonly of: number
      readonly start: number
      readonly count: number
    }
  | {
      readonly op: 'copy'
      readonly from: number
      readonly to: number
      readonly fromRow: number
      readonly toRow: number
      readonly start: number
      readonly end: number
    }
  | { readonly op: 'releaseTensor'; readonly tensor: number }
  | {
      readonly op: 'createSession'
      readonly call: number
      readonly session: number
      readonly model: Uint8Array
      readonly folder: string | null
      readonly inMemory: readonly (readonly [location: string, bytes: Uint8Array])[]
      readonly threads: number
    }
  | { readonly op: 'closeSession'; readonly call: number; readonly session: number }
  | {
      readonly op: 'bind'
      readonly binding: number
      readonly session: number
      readonly inputs: readonly (readonly [name: string, tensor: number])[]
      readonly outputs: readonly (readonly [name: string, tensor: number])[]
    }
  | { readonly op: 'releaseBinding'; readonly binding: number }
  | { readonly op: 'run'; readonly call: number; readonly binding: number }
  /** Ends the worker after the current run; queued work is dropped. */
  | { readonly op: 'end' }

export interface WorkerReply {
  readonly call: number
  /** Absent if the call succeeded. */
  readonly error?: string
}

interface Port {
  on(event: 'message', listener: (message: WorkerMessage) => void): void
  postMessage(reply: WorkerReply): void
  close(): void
}

/**
 * Complete program of the fallback worker.
 *
 * The function is passed as source text, because a bundled plugin has no worker file. So it may use only its parameters
 * and globals. A bundler may minify it, or wrap functions to keep their names, but not both.
 */
export function workerMain(port: Port, ort: typeof import('onnxruntime-node')): void {
  interface Memory {
    readonly tensor: Tensor
    readonly local: HostArray
    /** Memory shared with the main thread. The library does not accept shared memory, so data is copied. */
    readonly shared: HostArray | null
  }
  interface Bound {
    readonly session: InferenceSession
    readonly inputs: readonly (readonly [string, Memory])[]
    readonly outputs: readonly (readonly [string, Memory])[]
  }
  const memories = new Map<number, Memory>()
  const sessions = new Map<number, InferenceSession>()
  const bindings = new Map<number, Bound>()
  const count = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1)

  const view = ({ tensor, of, start, count: rows }: WorkerMessage & { op: 'view' }) => {
    const whole = memories.get(of) as Memory
    const shape = [rows, ...whole.tensor.dims.slice(1)]
    const size = count(shape.slice(1))
    const part = (array: HostArray) => array.subarray(start * size, (start + rows) * size)
    const local = part(whole.local)
    memories.set(tensor, {
      tensor: new ort.Tensor(whole.tensor.type as ElementType, local as never, shape),
      local,
      shared: whole.shared === null ? null : part(whole.shared)
    })
  }

  const copy = ({ from, to, fromRow, toRow, start, end }: WorkerMessage & { op: 'copy' }) => {
    const [source, target] = [memories.get(from) as Memory, memories.get(to) as Memory]
    const [, heads = 0, sourcePositions = 0, size = 0] = source.tensor.dims
    const targetPositions = target.tensor.dims[2] ?? 0
    for (let head = 0; head < heads; head++) {
      const begin = (fromRow * heads + head) * sourcePositions
      const values = source.local.subarray((begin + start) * size, (begin + end) * size)
      target.local.set(values as never, ((toRow * heads + head) * targetPositions + start) * size)
    }
  }

  const createSession = async (message: WorkerMessage & { op: 'createSession' }) => {
    const folder = message.folder === null ? {} : { model_external_initializers_file_folder_path: message.folder }
    const session = await ort.InferenceSession.create(message.model, {
      intraOpNumThreads: message.threads,
      graphOptimizationLevel: 'all',
      logSeverityLevel: 3,
      externalData: message.inMemory.map(([path, data]) => ({ path, data })),
      extra: { session: { force_spinning_stop: '1', x64quantprecision: '1', ...folder } }
    })
    sessions.set(message.session, session)
  }

  const run = async ({ session, inputs, outputs }: Bound) => {
    for (const [, memory] of inputs) if (memory.shared !== null) memory.local.set(memory.shared as never)
    const tensors = (named: Bound['inputs']) => Object.fromEntries(named.map(([name, { tensor }]) => [name, tensor]))
    await session.run(tensors(inputs), tensors(outputs))
    for (const [, memory] of outputs) memory.shared?.set(memory.local as never)
  }

  const handle = async (message: Exclude<WorkerMessage, { readonly op: 'end' }>): Promise<void> => {
    switch (message.op) {
      case 'host': {
        const local = new (message.data.constructor as Float32ArrayConstructor)(count(message.shape)) as HostArray
        const tensor = new ort.Tensor(message.type, local as never, message.shape)
        memories.set(message.tensor, { tensor, local, shared: message.data })
        return
      }
      case 'state': {
        const local = new Float32Array(count(message.shape))
        memories.set(message.tensor, { tensor: new ort.Tensor('float32', local, message.shape), local, shared: null })
        return
      }
      case 'constant': {
        const local = message.values
        memories.set(message.tensor, { tensor: new ort.Tensor('float32', local, message.shape), local, shared: null })
        return
      }
      case 'view':
        return view(message)
      case 'copy':
        return copy(message)
      case 'releaseTensor':
        memories.delete(message.tensor)
        return
      case 'createSession':
        return createSession(message)
      case 'closeSession':
        await sessions.get(message.session)?.release()
        sessions.delete(message.session)
        return
      case 'bind': {
        const find = (named: readonly (readonly [string, number])[]) =>
          named.map(([name, tensor]) => [name, memories.get(tensor) as Memory] as const)
        bindings.set(message.binding, {
          session: sessions.get(message.session) as InferenceSession,
          inputs: find(message.inputs),
          outputs: find(message.outputs)
        })
        return
      }
      case 'releaseBinding':
        bindings.delete(message.binding)
        return
      case 'run':
        return run(bindings.get(message.binding) as Bound)
    }
  }

  let ended = false
  const answer = async (message: Exclude<WorkerMessage, { readonly op: 'end' }>): Promise<void> => {
    if (ended) return
    const error = await handle(message).then(
      () => undefined,
      (failure: unknown) => String((failure as Error)?.message ?? failure)
    )
    if (!('call' in message)) return
    port.postMessage(error === undefined ? { call: message.call } : { call: message.call, error })
  }

  // Messages are handled one after the other: a run must end before the release that follows it.
  let last: Promise<void> = Promise.resolve()
  port.on('message', message => {
    if (message.op === 'end') {
      ended = true
      last = last.then(() => port.close())
    } else {
      last = last.then(() => answer(message))
    }
  })
}
