import type { InferenceSession, Tensor } from 'onnxruntime-node'
import type { ModelConfig } from './model-config.ts'
import type { ModelFiles } from './model-files.ts'

export type Ort = typeof import('onnxruntime-node')

export interface OpenOptions {
  /** Threads of one graph; 0 lets ONNX Runtime decide. */
  readonly threads: number
  readonly cuda: boolean
}

/** Key and value cache of the decoder, by input name. */
export type Cache = ReadonlyMap<string, Tensor>

export interface Step {
  /** Logits of all input tokens, as rows `[tokens][vocabulary]`. */
  readonly logits: Float32Array
  readonly cache: Cache
}

/** ONNX Runtime sessions of a model's graphs. */
export class Sessions {
  /** `cpu` or `cuda`. */
  readonly device: string
  readonly #ort: Ort
  readonly #config: ModelConfig
  readonly #encoder: InferenceSession
  readonly #first: InferenceSession
  /** Decoder of the later steps; the same session as `#first` for a merged graph. */
  readonly #next: InferenceSession

  static async open(ort: Ort, files: ModelFiles, config: ModelConfig, options: OpenOptions): Promise<Sessions> {
    if (options.cuda) {
      try {
        return await Sessions.#open(ort, files, config, options, 'cuda')
      } catch {
        // CUDA is not available, so the model runs on the CPU. The status shows the device in use.
      }
    }
    return Sessions.#open(ort, files, config, options, 'cpu')
  }

  static async #open(
    ort: Ort,
    files: ModelFiles,
    config: ModelConfig,
    { threads }: OpenOptions,
    device: 'cpu' | 'cuda'
  ): Promise<Sessions> {
    const opened: InferenceSession[] = []
    const open = async (path: string) => {
      const session = await ort.InferenceSession.create(path, {
        executionProviders: [device],
        graphOptimizationLevel: 'all',
        logSeverityLevel: 3,
        ...(threads > 0 ? { intraOpNumThreads: threads } : {}),
        extra: { session: { force_spinning_stop: '1' } }
      })
      opened.push(session)
      return session
    }
    try {
      const encoder = await open(files.encoder)
      if (files.decoder.kind === 'separate')
        return new Sessions(
          ort,
          config,
          device,
          encoder,
          await open(files.decoder.first),
          await open(files.decoder.next)
        )
      const merged = await open(files.decoder.graph)
      return new Sessions(ort, config, device, encoder, merged, merged)
    } catch (error) {
      for (const session of opened) await session.release()
      throw error
    }
  }

  private constructor(
    ort: Ort,
    config: ModelConfig,
    device: string,
    encoder: InferenceSession,
    first: InferenceSession,
    next: InferenceSession
  ) {
    this.device = device
    this.#ort = ort
    this.#config = config
    this.#encoder = encoder
    this.#first = first
    this.#next = next
  }

  /** Returns the encoder output for features `[bands][frames]`. */
  async encode(features: Float32Array): Promise<Tensor> {
    const { bands } = this.#config.mel
    const input = new this.#ort.Tensor('float32', features, [1, bands, features.length / bands])
    const [name = 'input_features'] = this.#encoder.inputNames
    const [output = 'last_hidden_state'] = this.#encoder.outputNames
    return (await this.#encoder.run({ [name]: input }))[output] as Tensor
  }

  /** Runs the decoder on tokens that follow those in the cache; without a cache, on the first tokens. */
  async decode(encoded: Tensor, tokens: readonly number[], cache: Cache | null): Promise<Step> {
    const session = cache === null ? this.#first : this.#next
    const ids = new this.#ort.Tensor('int64', BigInt64Array.from(tokens, BigInt), [1, tokens.length])
    const inputs: Record<string, Tensor> = { input_ids: ids }
    const { inputNames } = session
    if (inputNames.includes('encoder_hidden_states')) inputs.encoder_hidden_states = encoded
    if (inputNames.includes('use_cache_branch'))
      inputs.use_cache_branch = new this.#ort.Tensor('bool', [cache !== null], [1])
    for (const name of inputNames.filter(each => each.startsWith('past_key_values.')))
      inputs[name] = cache?.get(name) ?? this.#emptyCache()
    const made = await session.run(inputs)
    const next = new Map<string, Tensor>(cache)
    for (const [name, tensor] of Object.entries(made)) {
      if (!name.startsWith('present.')) continue
      // Cross-attention entries are kept from the first step: later steps of a merged graph return empty ones.
      if (cache !== null && name.includes('.encoder.')) continue
      next.set(name.replace('present.', 'past_key_values.'), tensor as Tensor)
    }
    return { logits: (made.logits as Tensor).data as Float32Array, cache: next }
  }

  async close(): Promise<void> {
    for (const session of new Set([this.#encoder, this.#first, this.#next])) await session.release()
  }

  #emptyCache(): Tensor {
    const { heads, headSize } = this.#config
    return new this.#ort.Tensor('float32', new Float32Array(), [1, heads, 0, headSize])
  }
}
