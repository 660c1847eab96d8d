import type { ServedConfig } from '../model-config.ts'
import type { Bindings, HostTensor, Runtime } from '../ort/runtime.ts'

/** Positions for which a run computes logits. */
export type Wanted = 'last' | 'all'
/** `argmax`: the device returns only the most probable token of each last position. */
export type Result = Wanted | 'argmax'

/** Tokens of one sequence, and the position of its first token. */
export interface Span {
  readonly tokens: readonly number[]
  readonly position: number
}

export interface FrameShape {
  /** Number of sequences. */
  readonly batch: number
  /** Tokens per sequence; those of shorter ones are followed by padding. */
  readonly length: number
  readonly wanted: Result
}

/** Returns the number of logit rows in a run of this shape. */
export function logitRows({ batch, length, wanted }: FrameShape): number {
  return wanted === 'all' ? batch * length : batch
}

export interface FrameOptions {
  readonly runtime: Runtime
  readonly config: ServedConfig
  /** Memory for logits, `[rows, vocabulary]`. Frames share it: a run's logits are read before the next run begins. */
  readonly sharedLogits: HostTensor<'float32'>
}

/** Host memory for the inputs and logits of runs of one shape. */
export class StepFrame {
  readonly inputs: Bindings
  readonly outputs: Bindings
  readonly #shape: FrameShape
  readonly #tokens: HostTensor<'int64'>
  readonly #lastPositions: HostTensor<'int32'>
  readonly #totalLength: HostTensor<'int32'>
  readonly #logitPositions: HostTensor<'int64'>
  readonly #logits: HostTensor<'float32'> | null
  readonly #argmax: HostTensor<'int64'> | null

  constructor({ runtime, config, sharedLogits }: FrameOptions, shape: FrameShape) {
    const { batch, length } = shape
    const rows = logitRows(shape)
    this.#tokens = runtime.host('int64', [batch, length])
    this.#lastPositions = runtime.host('int32', [batch])
    this.#totalLength = runtime.host('int32', [])
    this.#logitPositions = runtime.host('int64', [rows])
    const fits = rows <= (sharedLogits.shape[0] ?? 0)
    const logits = () =>
      fits ? runtime.view(sharedLogits, 0, rows) : runtime.host('float32', [rows, config.vocabularySize])
    this.#logits = shape.wanted === 'argmax' ? null : logits()
    this.#argmax = shape.wanted === 'argmax' ? runtime.host('int64', [rows, 1]) : null
    this.#shape = shape
    for (let row = 0; row < rows; row++) this.#logitPositions.data[row] = BigInt(row)
    this.inputs = {
      input_ids: this.#tokens,
      last_positions: this.#lastPositions,
      total_length: this.#totalLength,
      logit_positions: this.#logitPositions
    }
    this.outputs = {
      ...(this.#logits === null ? {} : { logits: this.#logits }),
      ...(this.#argmax === null ? {} : { argmax: this.#argmax })
    }
  }

  /** `[rows, vocabulary]`, valid until the next run of any frame; empty when only the argmax is returned. */
  get logits(): Float32Array {
    return this.#logits?.data ?? new Float32Array()
  }

  /** One token per row, if requested. */
  get argmax(): number[] {
    return Array.from(this.#argmax?.data ?? [], Number)
  }

  write(spans: readonly Span[]): void {
    const { length, wanted } = this.#shape
    let total = 0
    for (const [row, { tokens, position }] of spans.entries()) {
      for (let i = 0; i < length; i++) this.#tokens.data[row * length + i] = BigInt(tokens[i] ?? 0)
      if (wanted !== 'all') this.#logitPositions.data[row] = BigInt(row * length + tokens.length - 1)
      const end = position + tokens.length
      this.#lastPositions.data[row] = end - 1
      if (end > total) total = end
    }
    this.#totalLength.data[0] = total
  }

  release(): void {
    const tensors = [
      this.#tokens,
      this.#lastPositions,
      this.#totalLength,
      this.#logitPositions,
      this.#logits,
      this.#argmax
    ]
    for (const tensor of tensors) tensor?.release()
  }
}
