import { join } from 'node:path'
import { ConfigFields } from '../config-fields.ts'
import { fileMissing, readJsonObject } from '../files.ts'
import { OnnxGraph } from '../onnx/graph.ts'
import { elementCount, type OrtSession, type Runtime } from '../ort/runtime.ts'
import { readShards, type Shards } from '../shards.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import type { TextModel } from './embedder.ts'
import type { EncodedText } from './encoder-tokens.ts'
import { requireTensor } from './model-tensors.ts'

/** A matrix after the pooling, as the module Dense of sentence-transformers has it. */
export interface DenseLayer {
  readonly inputs: number
  readonly outputs: number
  /** Operator of ONNX; null for none. */
  readonly activation: 'Gelu' | 'Relu' | 'Sigmoid' | 'Tanh' | null
  /** float32 `[outputs, inputs]`. */
  readonly weight: Float32Array
  /** float32 `[outputs]`. */
  readonly bias: Float32Array | null
}

/** Elements of all matrices: the weights are a part of the graph. */
const MAX_ELEMENTS = 2 ** 27

const activations: Readonly<Record<string, DenseLayer['activation']>> = {
  'torch.nn.modules.linear.Identity': null,
  'torch.nn.modules.activation.GELU': 'Gelu',
  'torch.nn.modules.activation.ReLU': 'Relu',
  'torch.nn.modules.activation.Sigmoid': 'Sigmoid',
  'torch.nn.modules.activation.Tanh': 'Tanh'
}

/** Returns the files of a Dense module. Throws `INF_RUN_DIR_FILE_MISSING`. */
export async function denseFiles(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'config.json')
  await readJsonObject(file)
  return [file, ...(await readWeights(folder)).files]
}

/**
 * Reads the layers of the folders, of which the first has `size` inputs.
 *
 * Throws `INF_RUN_DIR_*`, and `INF_ARCHITECTURE_UNSUPPORTED` for an unknown activation.
 */
export async function readDenseLayers(folders: readonly string[], size: number): Promise<readonly DenseLayer[]> {
  const layers: DenseLayer[] = []
  let inputs = size
  let room = MAX_ELEMENTS
  for (const folder of folders) {
    const layer = await readLayer(folder, inputs, room)
    layers.push(layer)
    inputs = layer.outputs
    room -= layer.weight.length
  }
  return layers
}

async function readLayer(folder: string, inputs: number, room: number): Promise<DenseLayer> {
  const file = join(folder, 'config.json')
  const fields = new ConfigFields(file, await readJsonObject(file))
  for (const [name, wanted] of [
    ['module_input_name', 'sentence_embedding'],
    ['module_output_name', 'sentence_embedding'],
    ['use_residual', false]
  ] as const) {
    const value = fields.values[name] ?? wanted
    if (value !== wanted) throw fields.unsupported(name, value, JSON.stringify(wanted))
  }
  const [stated, outputs] = [fields.count('in_features'), fields.count('out_features')]
  if (stated !== inputs)
    throw fields.refuse('in_features', `${stated} is not ${inputs}, the size of the vectors before`)
  if (inputs * outputs > room) throw fields.unsupported('out_features', outputs, `${MAX_ELEMENTS} weights in all`)
  const name = String(fields.values.activation_function ?? 'torch.nn.modules.activation.Tanh')
  const activation = Object.hasOwn(activations, name) ? activations[name] : undefined
  if (activation === undefined) {
    throw fields.unsupported('activation_function', name, Object.keys(activations).join(', '))
  }
  const { tensors } = await readWeights(folder)
  const reader = new TensorReader()
  const read = async (tensor: string, shape: readonly number[]): Promise<Float32Array> => {
    const { entry } = requireTensor(folder, tensors, tensor, shape)
    const values = new Float32Array(elementCount(shape))
    await reader.read(entry, 0, values)
    return values
  }
  try {
    const weight = await read('linear.weight', [outputs, inputs])
    const bias = fields.boolean('bias', true) ? await read('linear.bias', [outputs]) : null
    return { inputs, outputs, activation, weight, bias }
  } finally {
    await reader.close()
  }
}

async function readWeights(folder: string): Promise<Shards> {
  const shards = await readShards(folder)
  if (shards !== null) return shards
  throw fileMissing(join(folder, 'model.safetensors'), 'Save the module as safetensors; other formats are not read.')
}

/** Model whose vectors pass through layers. Closes the model before it. */
export class DenseModel implements TextModel {
  readonly #before: TextModel
  readonly #runtime: Runtime
  readonly #session: OrtSession
  readonly #inputs: number
  readonly #outputs: number
  /** Calls that may use the session. */
  readonly #running = new Set<Promise<unknown>>()

  private constructor(before: TextModel, runtime: Runtime, session: OrtSession, inputs: number, outputs: number) {
    this.#before = before
    this.#runtime = runtime
    this.#session = session
    this.#inputs = inputs
    this.#outputs = outputs
  }

  static async open(
    before: TextModel,
    layers: readonly DenseLayer[],
    runtime: Runtime,
    threads: number
  ): Promise<DenseModel> {
    const session = await runtime.createSession({ model: denseGraph(layers), weights: null, threads })
    return new DenseModel(before, runtime, session, layers[0]?.inputs ?? 0, layers.at(-1)?.outputs ?? 0)
  }

  async compute(texts: readonly EncodedText[], signal?: AbortSignal): Promise<readonly Float32Array[]> {
    const computing = this.#compute(texts, signal)
    this.#running.add(computing)
    try {
      return await computing
    } finally {
      this.#running.delete(computing)
    }
  }

  async #compute(texts: readonly EncodedText[], signal?: AbortSignal): Promise<readonly Float32Array[]> {
    const rows = await this.#before.compute(texts, signal)
    if (rows.length === 0) return rows
    const input = this.#runtime.host('float32', [rows.length, this.#inputs])
    const output = this.#runtime.host('float32', [rows.length, this.#outputs])
    try {
      for (const [index, row] of rows.entries()) input.data.set(row, index * this.#inputs)
      const binding = this.#session.bind({ input }, { output })
      try {
        await binding.run()
      } finally {
        binding.release()
      }
      return rows.map((_, index) => output.data.slice(index * this.#outputs, (index + 1) * this.#outputs))
    } finally {
      input.release()
      output.release()
    }
  }

  async close(): Promise<void> {
    try {
      await this.#before.close()
    } finally {
      // Calls that have their vectors still use the session, which is freed here.
      await Promise.allSettled(this.#running)
      await this.#session.close()
    }
  }
}

function denseGraph(layers: readonly DenseLayer[]): Uint8Array {
  const graph = new OnnxGraph('dense')
  const bytes = (values: Float32Array) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  let value = graph.input('input', 'float32', ['texts', layers[0]?.inputs ?? 0])
  for (const [index, { inputs, outputs, activation, weight, bias }] of layers.entries()) {
    const name = index === layers.length - 1 ? 'output' : `layer.${index}`
    const matrix = graph.constant(`${name}.weight`, 'float32', [outputs, inputs], bytes(weight))
    const terms = bias === null ? [] : [graph.constant(`${name}.bias`, 'float32', [outputs], bytes(bias))]
    value = graph.node('Gemm', [value, matrix, ...terms], activation === null ? name : `${name}.product`, { transB: 1 })
    if (activation !== null) value = graph.node(activation, [value], name)
  }
  graph.output('output', 'float32', ['texts', layers.at(-1)?.outputs ?? 0])
  return graph.toBytes()
}
