import type { CachePool, CacheViews } from './batching/cache-pool.ts'
import { Frame, type FrameShape, logitRows, type Result, type Span, type Wanted } from './batching/frame.ts'
import type { ServedConfig } from './model-config.ts'
import type { Binding, Bindings, HostTensor, Runtime, Session } from './ort/runtime.ts'

export interface DecoderSessionOptions {
  readonly runtime: Runtime
  readonly session: Session
  readonly config: ServedConfig
  readonly cache: CachePool
  /** Tokens of a prompt that are read in one run. */
  readonly chunk: number
  /** Rows of logits of the runs that recur, other than whole chunks. */
  readonly logitRows: number
  /** Whether the graph computes the argmax itself. */
  readonly argmax?: boolean
}

export interface DecoderRun {
  /** Row of the cache that holds the first sequence; the others follow it. */
  readonly row: number
  /** One per sequence. Several sequences have one token each. */
  readonly spans: readonly Span[]
  readonly wanted: Wanted
  /** Weights of the run; see {@link DecoderSession.addVariant}. Default: the session itself. */
  readonly weights?: unknown
  /** Aborting it makes the run fail soon, where the runtime can interrupt itself. */
  readonly signal?: AbortSignal | undefined
}

/** Another decoder over the same cache: a session, and its graph's inputs in addition to tokens and cache. */
export interface DecoderVariant {
  readonly session: Session
  readonly inputs: Bindings
}

/** Windows whose bindings are kept. */
const MAX_WINDOWS = 48

/** Bindings for runs over the same rows of the cache, by what they are computed with and the name of their shape. */
interface Window {
  readonly views: CacheViews
  readonly bindings: Map<DecoderVariant, Map<string, Binding>>
}

/**
 * Runs a decoder over rows of a cache.
 *
 * Rows are bound as past and present at once, so a run appends to them where they lie. Going back to an earlier position
 * needs nothing: what lies behind is overwritten. Runs must not overlap.
 */
export class DecoderSession {
  readonly #options: DecoderSessionOptions
  readonly #sharedLogits: HostTensor<'float32'>
  /** Positions that a row of the cache has room for: no total length of a run is above it. */
  readonly #capacity: HostTensor<'int32'>
  readonly #frames = new Map<string, Frame>()
  /** By first row and number of rows; used ones move to the end. */
  readonly #windows = new Map<string, Window>()
  /** By what jobs call their weights; null is what the model was loaded with. */
  readonly #variants: Map<unknown, DecoderVariant>

  constructor(options: DecoderSessionOptions) {
    this.#options = options
    this.#variants = new Map([[null, { session: options.session, inputs: {} }]])
    const { runtime, config } = options
    this.#sharedLogits = runtime.host('float32', [options.logitRows, config.vocabularySize])
    this.#capacity = runtime.host('int32', [])
  }

  get chunk(): number {
    return this.#options.chunk
  }

  get vocabularySize(): number {
    return this.#options.config.vocabularySize
  }

  /** Whether {@link DecoderSession.runForArgmax} can be used. */
  get computesArgmax(): boolean {
    return this.#options.argmax === true
  }

  /**
   * Reads the tokens of all spans and returns logits `[rows, vocabulary]`: of the last token of each span, or of all. The
   * array is valid until the next run. The cache must have room for them: see {@link DecoderSession.reserve}.
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

  async #compute(run: Omit<DecoderRun, 'wanted'>, wanted: Result): Promise<Pick<Frame, 'logits' | 'argmax'>> {
    const { row, spans, weights = null, signal } = run
    const variant = this.#variants.get(weights)
    if (variant === undefined) throw new Error('a run names weights that are not there')
    const shape: FrameShape = { batch: spans.length, length: spans[0]?.tokens.length ?? 0, wanted }
    const window = this.#window(row, spans.length)
    const name = `${shape.batch} ${shape.length} ${wanted}`
    if (!this.#recurs(shape)) return this.#runOnce(variant, window, shape, spans, signal)
    const frame = this.#frames.get(name) ?? new Frame(this.#frameOptions, shape)
    this.#frames.set(name, frame)
    const bindings = window.bindings.get(variant) ?? new Map<string, Binding>()
    window.bindings.set(variant, bindings)
    const binding = bindings.get(name) ?? this.#bind(variant, window, frame, shape.length === 1)
    bindings.set(name, binding)
    frame.write(spans)
    await binding.run(signal)
    return frame
  }

  /** From now on runs may name `weights`; the caller removes a variant before it frees its session and inputs. */
  addVariant(weights: object, variant: DecoderVariant): void {
    this.#variants.set(weights, variant)
  }

  /** No run with it may be under way. */
  removeVariant(weights: object): void {
    const variant = this.#variants.get(weights)
    if (variant === undefined) return
    this.#variants.delete(weights)
    for (const { bindings } of this.#windows.values()) {
      for (const binding of bindings.get(variant)?.values() ?? []) binding.release()
      bindings.delete(variant)
    }
  }

  /** Makes room in the cache; see {@link CachePool.reserve}. */
  async reserve(positions: number, lengths: readonly number[]): Promise<void> {
    const { cache } = this.#options
    if (cache.holds(positions)) return
    this.#releaseWindows()
    await cache.reserve(positions, lengths)
    this.#capacity.data[0] = cache.capacity
  }

  /** Frees everything. No run may be under way. */
  async close(): Promise<void> {
    this.#releaseWindows()
    for (const frame of this.#frames.values()) frame.release()
    this.#frames.clear()
    this.#sharedLogits.release()
    this.#capacity.release()
    this.#options.cache.release()
    await this.#options.session.close()
  }

  get #frameOptions() {
    return { ...this.#options, sharedLogits: this.#sharedLogits }
  }

  /** Single tokens, few tokens with all their logits, and whole chunks: their memory and bindings are kept. */
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
  ): Promise<Pick<Frame, 'logits' | 'argmax'>> {
    const frame = new Frame(this.#frameOptions, shape)
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

  #bind(variant: DecoderVariant, { views }: Window, frame: Frame, recurs: boolean): Binding {
    const inputs = { ...variant.inputs, ...frame.inputs, ...views.past }
    const outputs = { ...frame.outputs, ...views.present }
    return variant.session.bind(inputs, outputs, recurs ? { bounds: { total_length: this.#capacity } } : undefined)
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
