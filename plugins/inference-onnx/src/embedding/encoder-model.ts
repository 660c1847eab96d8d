import { encoderNames } from '../onnx/encoder.ts'
import type { Bindings, OrtSession, Runtime, Tensor } from '../ort/runtime.ts'
import { Batches } from './batches.ts'
import type { TextModel } from './embedder.ts'
import type { EncoderConfig } from './encoder-config.ts'
import type { EncodedText } from './encoder-tokens.ts'
import { type Pooling, poolWeights } from './pooling.ts'

/** Inputs and outputs of one run of `texts.length` texts, each padded to `length` tokens. */
export interface GraphRun {
  readonly inputs: Bindings
  readonly outputs: Bindings
  /** Returns the rows after the run. */
  rows(): readonly Float32Array[]
}

/** Allocates the tensors of a run. */
export type PrepareRun = (runtime: Runtime, texts: readonly EncodedText[], length: number) => GraphRun

/** Encoder on ONNX Runtime, which computes batches of texts. */
export class EncoderModel implements TextModel {
  readonly #runtime: Runtime
  readonly #session: OrtSession
  readonly #prepare: PrepareRun
  readonly #size: number
  readonly #batches = new Batches(texts => this.#run(texts))

  /** `size`: numbers of a row. */
  constructor(runtime: Runtime, session: OrtSession, size: number, prepare: PrepareRun) {
    this.#runtime = runtime
    this.#session = session
    this.#size = size
    this.#prepare = prepare
  }

  async compute(texts: readonly EncodedText[], signal?: AbortSignal): Promise<readonly Float32Array[]> {
    const present = texts.filter(({ tokens }) => tokens.length > 0)
    const rows = [...(await this.#batches.compute(present, signal))]
    // A text without tokens gets a vector of zeros: the graph cannot compute an empty sequence.
    return texts.map(({ tokens }) => (tokens.length > 0 ? rows.shift() : null) ?? new Float32Array(this.#size))
  }

  async close(): Promise<void> {
    await this.#batches.close()
    await this.#session.close()
  }

  async #run(texts: readonly EncodedText[]): Promise<readonly Float32Array[]> {
    const length = Math.max(...texts.map(({ tokens }) => tokens.length))
    const run = this.#prepare(this.#runtime, texts, length)
    const binding = this.#session.bind(run.inputs, run.outputs)
    try {
      await binding.run()
      return run.rows()
    } finally {
      binding.release()
      for (const tensor of tensorsOf(run)) tensor.release()
    }
  }
}

function tensorsOf({ inputs, outputs }: GraphRun): readonly Tensor[] {
  return [...Object.values(inputs), ...Object.values(outputs)]
}

/** Writes tokens and segments of texts to two tensors `[texts, length]`. */
export function fillTexts(
  texts: readonly EncodedText[],
  length: number,
  tokens: BigInt64Array,
  types: BigInt64Array | null
): void {
  for (const [row, text] of texts.entries()) {
    for (const [at, token] of text.tokens.entries()) tokens[row * length + at] = BigInt(token)
    if (types === null) continue
    for (const [at, type] of text.types.entries()) types[row * length + at] = BigInt(type)
  }
}

/** Returns rows of a matrix as separate arrays, because the matrix is freed after the run. */
export function rowsOf(values: Float32Array, size: number): readonly Float32Array[] {
  return Array.from({ length: values.length / size }, (_, row) => values.slice(row * size, (row + 1) * size))
}

/** Returns a function that prepares runs of the graph of {@link buildEncoder}. `size`: numbers of a row. */
export function encoderRuns(config: EncoderConfig, size: number, pooling: Pooling): PrepareRun {
  const { firstPosition, types, traits } = config
  return (runtime, texts, length) => {
    const count = texts.length
    const names = encoderNames
    const tokens = runtime.host('int64', [count, length])
    const lengths = runtime.host('int32', [count])
    const weights = runtime.host('float32', [count, 1, length])
    const result = runtime.host('float32', [count, 1, size])
    const inputs: Record<string, Tensor> = {
      [names.tokens]: tokens,
      [names.lengths]: lengths,
      [names.poolWeights]: weights
    }
    const segments = types === 0 ? null : runtime.host('int64', [count, length])
    if (segments !== null) inputs[names.types] = segments
    fillTexts(texts, length, tokens.data as BigInt64Array, types > 1 ? (segments?.data as BigInt64Array) : null)
    if (traits.names.positions !== undefined) {
      const positions = runtime.host('int64', [length])
      for (let at = 0; at < length; at++) positions.data[at] = BigInt(firstPosition + at)
      inputs[names.positions] = positions
    }
    for (const [row, text] of texts.entries()) {
      lengths.data[row] = text.tokens.length
      poolWeights(pooling, text.tokens.length, weights.data.subarray(row * length, (row + 1) * length))
    }
    return { inputs, outputs: { [names.result]: result }, rows: () => rowsOf(result.data, size) }
  }
}
