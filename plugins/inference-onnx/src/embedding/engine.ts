import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import type {
  EmbedderInfo,
  EmbedderLoadOptions,
  InferenceEmbeddings,
  LoadedEmbedder,
  Quantization
} from '@svc/contracts'
import { digestFiles } from '../digest.ts'
import { inferenceErrors } from '../errors.ts'
import { fileMissing } from '../files.ts'
import type { Runtime } from '../ort/runtime.ts'
import type { QuantizationChoice } from '../quantization.ts'
import { contextOf } from './context.ts'
import { openDecoderEmbedder } from './decoder-embedder.ts'
import { DenseModel, readDenseLayers } from './dense.ts'
import { OnnxEmbedder, type TextModel } from './embedder.ts'
import { type EmbedderFolder, readEmbedderFolder } from './embedder-folder.ts'
import { openEncoder, readEncoderConfig } from './encoder-embedder.ts'
import { EncoderModel } from './encoder-model.ts'
import { EncoderTokens, type Frame } from './encoder-tokens.ts'
import { readExportedEncoder } from './exported-encoder.ts'
import { StaticModel } from './static.ts'

/** Limit of a text for models that have none. */
const MAX_TOKENS = 1_000_000
/** Limit of an exported model whose configuration states none. */
const DEFAULT_POSITIONS = 512
/** Attention heads of an exported model whose configuration states none. */
const DEFAULT_HEADS = 16
const NO_FRAME: Frame = { before: [], after: [] }

export interface OnnxEmbeddingsOptions {
  /** Folder of digests. It may be read-only, or emptied at any time. */
  readonly cacheDirectory: string
  /** Quantisation of encoders and decoders whose load requests none; static tables and graphs keep their weights. */
  readonly quantization: QuantizationChoice
  /** Called if converted weights stay in memory, because the cache is not writable. */
  onUncached(reason: Error): void
  /** Opens ONNX Runtime on the CPU. */
  openRuntime(): Runtime
  /** Returns the threads of loads that name none. */
  threads(): Promise<number>
}

/** Model that is ready to compute, and what is known about it. */
interface OpenedModel {
  readonly model: TextModel
  readonly tokens: EncoderTokens
  readonly frame: Frame
  readonly info: Pick<EmbedderInfo, 'kind' | 'family' | 'dimensions' | 'contextLength' | 'parameters'>
  readonly normalise: boolean
  readonly dropped: number | null
  readonly digest: string
  readonly sizeBytes: number
}

/** Loads embedding models and rerankers on ONNX Runtime, on the CPU. */
export class OnnxEmbeddings implements InferenceEmbeddings {
  readonly #options: OnnxEmbeddingsOptions
  readonly #open = new Set<LoadedEmbedder>()

  constructor(options: OnnxEmbeddingsOptions) {
    this.#options = options
  }

  async load(options: EmbedderLoadOptions): Promise<LoadedEmbedder> {
    const directory = resolve(options.directory)
    try {
      options.signal?.throwIfAborted()
      const folder = await readEmbedderFolder(directory)
      const opened = await this.#openModel(folder, options)
      const { model, tokens, info, digest, sizeBytes, ...rest } = await this.#addDense(folder, opened, options)
      const embedder: OnnxEmbedder = new OnnxEmbedder({
        info: { ...info, vocabularySize: tokens.vocabularySize, digest, sizeBytes, device: 'cpu' },
        tokens,
        model,
        prompts: folder.prompts,
        ...rest,
        onClosed: () => this.#open.delete(embedder)
      })
      this.#open.add(embedder)
      return embedder
    } catch (error) {
      if (options.signal?.aborted !== true) throw error
      throw inferenceErrors.create('INF_LOAD_CANCELLED', `The caller cancelled loading ${directory}`, { cause: error })
    }
  }

  /** Closes all models, because they use the runtime of this plugin. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map(each => each.close()))
  }

  async #openModel(folder: EmbedderFolder, options: EmbedderLoadOptions): Promise<OpenedModel> {
    if (folder.isStatic) {
      refuseQuantization(options, 'static embeddings')
      return this.#openStatic(folder, options)
    }
    const hasWeights = folder.tensors.size > 0
    if (!hasWeights && folder.exported === null) {
      throw fileMissing(
        `${folder.modelPath}/model.safetensors`,
        'Add the weights as safetensors or as model.onnx, or name another folder.'
      )
    }
    if (!hasWeights) return this.#openExported(folder, folder.exported as string, options)
    if (folder.config.values.model_type === 'qwen3') return this.#openDecoder(folder, options)
    try {
      return await this.#openEncoder(folder, options)
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      // A family that the engine cannot build may have a graph next to its weights.
      if (code !== 'INF_ARCHITECTURE_UNSUPPORTED' || folder.exported === null) throw error
      return this.#openExported(folder, folder.exported, options)
    }
  }

  /** Adds the matrices after the pooling. Closes the model if they cannot be read. */
  async #addDense(folder: EmbedderFolder, opened: OpenedModel, options: EmbedderLoadOptions): Promise<OpenedModel> {
    const { dense } = folder.modules
    if (dense.length === 0) return opened
    try {
      const folders = dense.map(path => join(folder.path, path))
      const layers = await readDenseLayers(folders, opened.info.dimensions)
      const runtime = this.#options.openRuntime()
      const model = await DenseModel.open(opened.model, layers, runtime, await this.#threads(options))
      const added = layers.reduce((sum, { weight, bias }) => sum + weight.length + (bias?.length ?? 0), 0)
      const { info } = opened
      const dimensions = layers.at(-1)?.outputs ?? info.dimensions
      return { ...opened, model, info: { ...info, dimensions, parameters: info.parameters + added } }
    } catch (error) {
      await opened.model.close()
      throw error
    }
  }

  async #openStatic(folder: EmbedderFolder, { signal }: EmbedderLoadOptions): Promise<OpenedModel> {
    const model = await StaticModel.read(folder.tensors, signal)
    const tokens = this.#tokens(folder, model.size)
    // model2vec leaves unknown words out; StaticEmbedding of sentence-transformers has a vector for them.
    const isModel2vec = folder.tensors.has('embeddings')
    return {
      model,
      tokens,
      frame: NO_FRAME,
      info: {
        kind: 'embedding',
        family: 'static',
        dimensions: model.dimensions,
        contextLength: Math.min(folder.maxTokens, MAX_TOKENS),
        parameters: model.parameters
      },
      normalise: isModel2vec ? folder.config.boolean('normalize', folder.modules.normalise) : folder.modules.normalise,
      dropped: isModel2vec ? tokens.unknown : null,
      ...(await this.#digest(folder, folder.files, signal))
    }
  }

  async #openEncoder(folder: EmbedderFolder, options: EmbedderLoadOptions): Promise<OpenedModel> {
    const config = readEncoderConfig(folder)
    const tokens = this.#tokens(folder, config.vocabularySize)
    const kind = this.#kind(folder, tokens, folder.isReranker)
    const { digest, sizeBytes } = await this.#digest(folder, folder.files, options.signal)
    const prepare = await this.#prepareOptions(digest, options)
    const encoder = await openEncoder(folder, config, prepare)
    const { session, size, contextLength, parameters } = encoder
    return {
      model: new EncoderModel(prepare.runtime, session, size, encoder.prepare),
      tokens,
      frame: tokens.frame,
      info: { ...kind, family: config.family, dimensions: size, contextLength, parameters },
      normalise: folder.modules.normalise,
      dropped: null,
      digest: digestOf(digest, encoder.quantization),
      sizeBytes
    }
  }

  async #openDecoder(folder: EmbedderFolder, options: EmbedderLoadOptions): Promise<OpenedModel> {
    const { digest, sizeBytes } = await this.#digest(folder, folder.files, options.signal)
    const prepare = await this.#prepareOptions(digest, options)
    const decoder = await openDecoderEmbedder(folder, prepare)
    const { config, contextLength, parameters } = decoder
    let tokens: EncoderTokens
    try {
      tokens = this.#tokens(folder, config.vocabularySize)
    } catch (error) {
      await decoder.session.close()
      throw error
    }
    const dimensions = config.hiddenSize
    return {
      model: new EncoderModel(prepare.runtime, decoder.session, dimensions, decoder.prepare),
      tokens,
      frame: tokens.frame,
      info: { kind: 'embedding', family: config.family, dimensions, contextLength, parameters },
      normalise: folder.modules.normalise,
      dropped: null,
      digest: digestOf(digest, decoder.quantization),
      sizeBytes
    }
  }

  async #prepareOptions(digest: string, options: EmbedderLoadOptions) {
    const { cacheDirectory, quantization, onUncached } = this.#options
    return {
      digest,
      runtime: this.#options.openRuntime(),
      threads: await this.#threads(options),
      cacheDirectory,
      onUncached,
      quantization: options.quantization ?? quantization,
      signal: options.signal
    }
  }

  async #openExported(folder: EmbedderFolder, file: string, options: EmbedderLoadOptions): Promise<OpenedModel> {
    refuseQuantization(options, `the graph ${file}`)
    const { config, modules } = folder
    const hiddenSize = config.values.hidden_size === undefined ? null : config.count('hidden_size')
    const encoder = await readExportedEncoder(folder.path, file, hiddenSize, modules.pooling)
    const tokens = this.#tokens(folder, config.count('vocab_size'))
    const kind = this.#kind(folder, tokens, encoder.isReranker)
    const heads = config.count('num_attention_heads', DEFAULT_HEADS)
    const contextLength = contextOf(folder, exportedPositions(folder), heads)
    const digest = await this.#digest(folder, [...folder.files, ...encoder.files], options.signal)
    const runtime = this.#options.openRuntime()
    const session = await runtime.createSession({
      model: encoder.model,
      weights: { folder: encoder.folder, inMemory: new Map() },
      threads: await this.#threads(options),
      signal: options.signal
    })
    return {
      model: new EncoderModel(runtime, session, encoder.size, encoder.prepare),
      tokens,
      frame: tokens.frame,
      info: {
        ...kind,
        family: typeof config.values.model_type === 'string' ? config.values.model_type : 'onnx',
        dimensions: encoder.size,
        contextLength,
        parameters: encoder.parameters
      },
      normalise: modules.normalise,
      dropped: null,
      ...digest
    }
  }

  #kind({ tokenizerFile }: EmbedderFolder, { pair }: EncoderTokens, isReranker: boolean): Pick<EmbedderInfo, 'kind'> {
    if (!isReranker) return { kind: 'embedding' }
    if (pair !== null) return { kind: 'reranker' }
    throw inferenceErrors.create(
      'INF_TOKENIZER_UNSUPPORTED',
      `${tokenizerFile}: post_processor has no template of a pair, which a reranker needs`,
      { at: { file: tokenizerFile, path: 'post_processor' } }
    )
  }

  #tokens(folder: EmbedderFolder, rows: number): EncoderTokens {
    return new EncoderTokens(folder.tokenizerFile, folder.tokenizer, folder.tokenizerConfiguration, rows)
  }

  async #threads({ threads }: EmbedderLoadOptions): Promise<number> {
    const count = threads ?? (await this.#options.threads())
    if (Number.isSafeInteger(count) && count > 0) return count
    throw inferenceErrors.create('INF_OPTION_INVALID', `threads is ${count}, not a whole number above 0`, {
      at: { path: 'threads' },
      data: { name: 'threads', value: count }
    })
  }

  #digest({ path }: EmbedderFolder, files: readonly string[], signal?: AbortSignal) {
    const { cacheDirectory } = this.#options
    return digestFiles(path, [...new Set(files)], { cacheDirectory, signal, onProgress: () => undefined })
  }
}

/** Returns the digest of vectors: quantised weights give others than the files. */
function digestOf(files: string, quantization: Quantization): string {
  if (quantization === 'none') return files
  return createHash('sha256').update([files, quantization].join('\0')).digest('hex')
}

/** Throws `INF_OPTION_INVALID` for a quantisation of weights that stay as they are. */
function refuseQuantization({ quantization }: EmbedderLoadOptions, what: string): void {
  if (quantization === undefined || quantization === 'auto' || quantization === 'none') return
  throw inferenceErrors.create('INF_OPTION_INVALID', `quantization is ${quantization}; ${what} cannot be quantised`, {
    at: { path: 'quantization' },
    data: { name: 'quantization', value: quantization },
    hint: 'Use auto or none.'
  })
}

/** Returns the tokens that an exported model can read; families like RoBERTa count positions from the padding token. */
function exportedPositions({ config }: EmbedderFolder): number {
  const positions = config.count('max_position_embeddings', DEFAULT_POSITIONS)
  const { model_type: family, pad_token_id: pad } = config.values
  if (!['roberta', 'xlm-roberta', 'camembert', 'mpnet'].includes(String(family))) return positions
  const counted = Number(pad ?? 1) + 1
  if (Number.isSafeInteger(counted) && counted >= 0 && counted < positions) return positions - counted
  throw config.refuse('pad_token_id', `${JSON.stringify(pad)} leaves none of ${positions} positions`)
}
