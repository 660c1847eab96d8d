import type { CachePool, CacheViews } from './batching/cache-pool.ts'
import { type FrameShape, logitRows, type Result, type Span, StepFrame, type Wanted } from './batching/frame.ts'
import type { ServedConfig } from './model-config.ts'
import type { Binding, Bindings, HostTensor, OrtSession, Runtime } from './ort/runtime.ts'
import { CandidateSession, type Candidates } from './sampling/candidates.ts'

export interface DecoderSessionOptions {
  readonly runtime: Runtime
  readonly session: OrtSession
  readonly config: ServedConfig
  readonly cache: CachePool
  /** Maximum prompt tokens per run. */
  readonly chunk: number
  /** Maximum logit rows of a run whose memory is cached. */
  readonly logitRows: number
  /** True if the graph computes the argmax itself. */
  readonly argmax?: boolean
}

export interface DecoderOpenOptions extends DecoderSessionOptions {
  /** Threads that compute the candidates of sampled tokens; null: none are computed. */
  readonly candidateThreads: number | null
}

export interface DecoderRun {
  /** Cache row of the first sequence; the other sequences are in the rows after it. */
  readonly row: number
  /** One per sequence. Several sequences have one token each, or begin at position 0 and need no logits but the last. */
  readonly spans: readonly Span[]
  readonly wanted: Wanted
  /** Weights of each span; see {@link DecoderSession.addVariant}. Default: the session itself. */
  readonly weights?: readonly unknown[]
  /** Aborts the run, if the runtime can be interrupted. */
  readonly signal?: AbortSignal | undefined
}

/** Another decoder over the same cache: its session and additional graph inputs. */
export interface DecoderVariant {
  readonly session: OrtSession
  readonly inputs: Bindings
  /** Variants whose sequences can share a run; absent: only its own can. */
  readonly family?: VariantFamily
}

/** Variants that one decoder computes in the same run. */
export interface VariantFamily {
  /**
   * Returns a decoder for sequences with these weights, in this order. Called when no run is active; valid until the
   * next call.
   */
  mix(weights: readonly unknown[]): Promise<DecoderVariant>
}

/** Maximum row ranges with cached bindings. */
const MAX_WINDOWS = 48

/** Cached bindings for runs over the same cache rows, by weights and shape. */
interface Window {
  readonly views: CacheViews
  readonly bindings: Map<DecoderVariant, Map<string, Binding>>
}

/**
 * Runs a decoder over rows of a cache.
 *
 * Rows are bound both as past and as present, so a run appends to them in place. Rolling back to an earlier position
 * needs no work: later entries are overwritten. Runs must not overlap.
 */
export class DecoderSession {
  readonly #options: DecoderSessionOptions
  readonly #sharedLogits: HostTensor<'float32'>
  /** Capacity of a cache row in positions; no run exceeds this total length. */
  readonly #capacity: HostTensor<'int32'>
  readonly #frames = new Map<string, StepFrame>()
  /** Windows by first row and number of rows; the least recently used come first. */
  readonly #windows = new Map<string, Window>()
  /** Decoders by {@link Job.weights}; null is the loaded model. */
  readonly #variants: Map<unknown, DecoderVariant>
  /** Family of the loaded model. */
  #loadedFamily: VariantFamily | null = null
  #candidates: CandidateSession | null = null

  constructor(options: DecoderSessionOptions) {
    this.#options = options
    this.#variants = new Map([[null, { session: options.session, inputs: {} }]])
    const { runtime, config } = options
    this.#sharedLogits = runtime.host('float32', [options.logitRows, config.vocabularySize])
    this.#capacity = runtime.host('int32', [])
  }

  /** Creates a session that also computes candidates. */
  static async open({ candidateThreads, ...options }: DecoderOpenOptions): Promise<DecoderSession> {
    const session = new DecoderSession(options)
    if (candidateThreads === null) return session
    session.#candidates = await CandidateSession.open({
      runtime: options.runtime,
      logits: session.#sharedLogits,
      threads: candidateThreads
    })
    return session
  }

  get chunk(): number {
    return this.#options.chunk
  }

  get vocabularySize(): number {
    return this.#options.config.vocabularySize
  }

  /** True if {@link DecoderSession.runForArgmax} is available. */
  get computesArgmax(): boolean {
    return this.#options.argmax === true
  }

  /**
   * Computes the tokens of all spans, and returns logits `[rows, vocabulary]` of the last token of each span or of all
   * tokens. The array is valid until the next run. The cache must have room; see {@link DecoderSession.reserve}.
   */
  async run(run: DecoderRun): Promise<Float32Array> {
    const { logits } = await this.#compute(run, run.wanted)
    return logits
  }

  /** Like {@link DecoderSession.run}, but returns only the argmax of each span's last token. */
  async runForArgmax(run: Omit<DecoderRun, 'wanted'>): Promise<readonly number[]> {
    const { argmax } = await this.#compute(run, 'argmax')
    return argmax
  }

  async #compute(run: Omit<DecoderRun, 'wanted'>, wanted: Result): Promise<Pick<StepFrame, 'logits' | 'argmax'>> {
    const { row, spans, weights = [null], signal } = run
    const variant = await this.#variantOf(weights)
    const shape: FrameShape = {
      batch: spans.length,
      length: Math.max(0, ...spans.map(({ tokens }) => tokens.length)),
      wanted
    }
    for (const [index, { tokens, position }] of spans.entries()) {
      await this.#options.cache.extend(row + index, position + tokens.length)
    }
    const window = this.#window(row, spans.length)
    const name = `${shape.batch} ${shape.length} ${wanted}`
    if (!this.#recurs(shape)) return this.#runOnce(variant, window, shape, spans, signal)
    const frame = this.#frames.get(name) ?? new StepFrame(this.#frameOptions, shape)
    this.#frames.set(name, frame)
    const bindings = window.bindings.get(variant) ?? new Map<string, Binding>()
    window.bindings.set(variant, bindings)
    const binding = bindings.get(name) ?? this.#bind(variant, window, frame, shape.length === 1)
    bindings.set(name, binding)
    frame.write(spans)
    await binding.run(signal)
    return frame
  }

  /**
   * Returns the candidates of the latest run's rows, one per temperature; null if they are not computed. They are valid
   * until the next call.
   */
  async candidates(temperatures: readonly number[]): Promise<readonly Candidates[] | null> {
    if (this.#candidates === null || temperatures.length > this.#options.logitRows) return null
    return this.#candidates.run(temperatures)
  }

  /** Returns the same value for weights whose sequences can share a run. */
  groupOf(weights: unknown): unknown {
    return this.#familyOf(weights) ?? weights
  }

  /** Sets the family of the loaded model; null: its sequences share no run with those of variants. */
  setFamily(family: VariantFamily | null): void {
    this.#loadedFamily = family
  }

  /** Allows runs with `weights`. The caller must remove the variant before it frees its session and inputs. */
  addVariant(weights: object, variant: DecoderVariant): void {
    this.#variants.set(weights, variant)
  }

  /** Removes a variant. Call only when no run uses it. */
  removeVariant(weights: object): void {
    const variant = this.#variants.get(weights)
    if (variant === undefined) return
    this.#variants.delete(weights)
    this.#releaseBindings(variant)
  }

  /** Frees what runs with a mixed variant have bound. Call only when no run uses it. */
  forget(mixed: DecoderVariant): void {
    this.#releaseBindings(mixed)
  }

  /** Reserves room in the cache; see {@link CachePool.reserve}. */
  async reserve(positions: number, lengths: readonly number[]): Promise<void> {
    const { cache } = this.#options
    if (cache.holds(positions)) return
    this.#releaseWindows()
    await cache.reserve(positions, lengths)
    this.#capacity.data[0] = cache.capacity
  }

  /** Frees all memory. Call only when no run is active. */
  async close(): Promise<void> {
    this.#releaseWindows()
    for (const frame of this.#frames.values()) frame.release()
    this.#frames.clear()
    await this.#candidates?.close()
    this.#sharedLogits.release()
    this.#capacity.release()
    this.#options.cache.release()
    await this.#options.session.close()
  }

  get #frameOptions() {
    return { ...this.#options, sharedLogits: this.#sharedLogits }
  }

  /** True for shapes that recur, whose memory and bindings are cached: single tokens, drafts, and whole chunks. */
  #recurs(shape: FrameShape): boolean {
    if (logitRows(shape) > this.#options.logitRows) return false
    return shape.length === 1 || shape.wanted === 'all' || shape.length === this.#options.chunk
  }

  async #runOnce(
    variant: DecoderVariant,
    window: Window,
    shape: FrameShape,
    spans: readonly Span[],
    signal: AbortSignal | undefined
  ): Promise<Pick<StepFrame, 'logits' | 'argmax'>> {
    const frame = new StepFrame(this.#frameOptions, shape)
    const binding = this.#bind(variant, window, frame, false)
    try {
      frame.write(spans)
      await binding.run(signal)
      return { logits: frame.logits, argmax: frame.argmax }
    } finally {
      binding.release()
      frame.release()
    }
  }

  #bind(variant: DecoderVariant, { views }: Window, frame: StepFrame, recurs: boolean): Binding {
    const inputs = { ...variant.inputs, ...frame.inputs, ...views.past }
    const outputs = { ...frame.outputs, ...views.present }
    return variant.session.bind(inputs, outputs, recurs ? { bounds: { total_length: this.#capacity } } : undefined)
  }

  #known(weights: unknown): DecoderVariant {
    const variant = this.#variants.get(weights)
    if (variant === undefined) throw new Error('a run names unknown weights')
    return variant
  }

  async #variantOf(weights: readonly unknown[]): Promise<DecoderVariant> {
    const [first = null] = weights
    if (weights.every(other => other === first)) return this.#known(first)
    const family = this.#familyOf(first)
    if (family === null) throw new Error('the weights of a run cannot be mixed')
    return family.mix(weights)
  }

  #familyOf(weights: unknown): VariantFamily | null {
    return weights === null ? this.#loadedFamily : (this.#known(weights).family ?? null)
  }

  #releaseBindings(variant: DecoderVariant): void {
    for (const { bindings } of this.#windows.values()) {
      for (const binding of bindings.get(variant)?.values() ?? []) binding.release()
      bindings.delete(variant)
    }
  }

  #window(row: number, count: number): Window {
    const name = `${row} ${count}`
    const window = this.#windows.get(name) ?? { views: this.#options.cache.views(row, count), bindings: new Map() }
    this.#windows.delete(name)
    this.#windows.set(name, window)
    const [oldest] = this.#windows
    if (this.#windows.size > MAX_WINDOWS && oldest !== undefined) this.#releaseWindow(...oldest)
    return window
  }

  #releaseWindows(): void {
    for (const [name, window] of this.#windows) this.#releaseWindow(name, window)
  }

  #releaseWindow(name: string, { views, bindings }: Window): void {
    this.#windows.delete(name)
    for (const kept of bindings.values()) for (const binding of kept.values()) binding.release()
    views.release()
  }
}
