import { buildCandidates, CANDIDATES } from '../onnx/candidates.ts'
import type { Binding, HostTensor, OrtSession, Runtime } from '../ort/runtime.ts'

/** Values of a row of logits from which a token is chosen, computed by ONNX Runtime outside the event loop. */
export interface Candidates {
  /** The tokens with the largest logits, largest first; of equal logits, the smaller id first. */
  readonly tokens: readonly number[]
  /** Probability of each token at the row's temperature. May be changed; valid until the next run. */
  readonly probabilities: Float32Array
  /** Logarithm of the sum of `exp(logit)` over all tokens. */
  readonly logSum: number
}

/** Size of the vocabulary from which ONNX Runtime is faster than JavaScript, in spite of the call. */
const MIN_VOCABULARY = 8192
/** Largest inverse of a temperature: at larger ones, float32 logits differ by more than a probability can show. */
const MAX_INVERSE = 1e6

export interface CandidateOptions {
  readonly runtime: Runtime
  /** Logits `[rows, vocabulary]`; a run reads its first rows. */
  readonly logits: HostTensor<'float32'>
  readonly threads: number
}

/** Memory of the runs for a number of rows. */
interface Frame {
  readonly binding: Binding
  readonly inverses: HostTensor<'float32'>
  readonly tokens: HostTensor<'int64'>
  readonly logSums: HostTensor<'float32'>
  readonly views: readonly HostTensor<'float32'>[]
}

/** Computes the candidates of rows of logits. Runs must not overlap. */
export class CandidateSession {
  readonly #options: CandidateOptions
  readonly #session: OrtSession
  readonly #probabilities: HostTensor<'float32'>
  /** Frames by their number of rows. */
  readonly #frames = new Map<number, Frame>()

  private constructor(options: CandidateOptions, session: OrtSession) {
    this.#options = options
    this.#session = session
    this.#probabilities = options.runtime.host('float32', options.logits.shape)
  }

  /** Opens a session; null for a vocabulary so small that JavaScript is faster. */
  static async open(options: CandidateOptions): Promise<CandidateSession | null> {
    const [, vocabulary = 0] = options.logits.shape
    if (vocabulary < MIN_VOCABULARY) return null
    const { runtime, threads } = options
    return new CandidateSession(
      options,
      await runtime.createSession({ model: buildCandidates(vocabulary), weights: null, threads })
    )
  }

  /** Returns the candidates of the first rows, one for each temperature. They are valid until the next run. */
  async run(temperatures: readonly number[]): Promise<Candidates[]> {
    const rows = temperatures.length
    const frame = this.#frames.get(rows) ?? this.#open(rows)
    this.#frames.set(rows, frame)
    for (const [row, temperature] of temperatures.entries())
      frame.inverses.data[row] = temperature === 0 ? 1 : Math.min(1 / temperature, MAX_INVERSE)
    await frame.binding.run()
    const [, vocabulary = 0] = this.#probabilities.shape
    return temperatures.map((_, row) => ({
      tokens: Array.from(frame.tokens.data.subarray(row * CANDIDATES, (row + 1) * CANDIDATES), Number),
      probabilities: this.#probabilities.data.subarray(row * vocabulary, (row + 1) * vocabulary),
      logSum: frame.logSums.data[row] as number
    }))
  }

  /** Frees all memory but the logits. Call only when no run is active. */
  async close(): Promise<void> {
    for (const { binding, inverses, tokens, logSums, views } of this.#frames.values()) {
      binding.release()
      for (const tensor of [inverses, tokens, logSums, ...views]) tensor.release()
    }
    this.#frames.clear()
    this.#probabilities.release()
    await this.#session.close()
  }

  #open(rows: number): Frame {
    const { runtime, logits } = this.#options
    const inverses = runtime.host('float32', [rows, 1])
    const tokens = runtime.host('int64', [rows, CANDIDATES])
    const logSums = runtime.host('float32', [rows, 1])
    const [input, probabilities] = [runtime.view(logits, 0, rows), runtime.view(this.#probabilities, 0, rows)]
    const binding = this.#session.bind(
      { logits: input, inverse_temperatures: inverses },
      { candidates: tokens, probabilities, log_sums: logSums }
    )
    return { binding, inverses, tokens, logSums, views: [input, probabilities] }
  }
}
