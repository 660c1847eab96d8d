import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { DeviceInfo, InferenceEngine, LoadedModel, LoadOptions, ModelInfo } from '@svc/contracts'
import { CachePool } from './batching/cache-pool.ts'
import { Scheduler } from './batching/scheduler.ts'
import { DecoderSession } from './decoder-session.ts'
import { digestFiles } from './digest.ts'
import { inferenceErrors } from './errors.ts'
import { OnnxModel } from './model.ts'
import { parseModelConfig } from './model-config.ts'
import { buildDecoder } from './onnx/decoder.ts'
import { ownRequire, packageVersion } from './ort/library.ts'
import { openRuntime, type RuntimeKind } from './ort/open.ts'
import { elementCount, type Runtime } from './ort/runtime.ts'
import { chatTemplate, endTokens } from './prompt-format.ts'
import { chooseQuantization, type QuantizationChoice } from './quantization.ts'
import { type RunDirectory, readRunDirectory } from './run-directory.ts'
import { physicalParallelism } from './threads.ts'
import { Tokenizer } from './tokenizer.ts'
import { prepareWeights } from './weights/prepare.ts'

export interface OnnxEngineOptions {
  /** Folder for converted weights and digests. Nothing breaks when it cannot be written or is emptied. */
  readonly cacheDirectory: string
  readonly runtime?: RuntimeKind
  /** Finds the packages of ONNX Runtime; default: as this package itself does. */
  readonly require?: NodeJS.Require
  /** Used where a load names no device. */
  readonly device?: string
  /** Used where a load names no number of threads. */
  readonly threads?: number
  /** Used where a load names no quantisation; default `auto`. */
  readonly quantization?: QuantizationChoice
  /** Tokens of a prompt that are read in one run; default 256. */
  readonly promptChunk?: number
  /** Requests that may wait for a slot of one model; default 64. */
  readonly maxWaiting?: number
  /** Told what went on in another way than asked for. */
  onWarning?(message: string, reason: Error): void
}

const DEFAULT_PROMPT_CHUNK = 256
const DEFAULT_MAX_WAITING = 64
/** Where the steps of a load end, as parts of the whole. */
const progress = { read: 0.02, digest: 0.3, weights: 0.8, session: 1 } as const

/** The engine on ONNX Runtime. Nothing heavy is loaded before the first {@link OnnxEngine.load}. */
export class OnnxEngine implements InferenceEngine {
  readonly name: string
  readonly instance: string = randomUUID()
  readonly #options: OnnxEngineOptions
  #runtime: Runtime | undefined
  #openModels = 0
  #closed = false

  constructor(options: OnnxEngineOptions) {
    this.#options = options
    this.name = `onnxruntime ${packageVersion(options.require ?? ownRequire())}`
  }

  async devices(): Promise<readonly DeviceInfo[]> {
    return [{ id: 'cpu', description: `${process.arch} processor, ${await physicalParallelism()} cores` }]
  }

  async load(options: LoadOptions): Promise<LoadedModel> {
    try {
      return await this.#load(options)
    } catch (error) {
      if (options.signal?.aborted !== true) throw error
      throw inferenceErrors.create('INF_LOAD_CANCELLED', `Loading ${options.runDirectory} was cancelled`, {
        cause: error
      })
    }
  }

  /**
   * Frees the runtime: at once, or with the last open model. Models belong to whoever loaded them, and outlive a reload
   * of this plugin where their owner keeps them.
   */
  async close(): Promise<void> {
    this.#closed = true
    await this.#closeRuntime()
  }

  async #closeRuntime(): Promise<void> {
    if (!this.#closed || this.#openModels > 0) return
    await this.#runtime?.close()
    this.#runtime = undefined
  }

  async #load(options: LoadOptions): Promise<LoadedModel> {
    const { signal } = options
    const runDirectory = resolve(options.runDirectory)
    checkDevice(options.device ?? this.#options.device ?? 'auto')
    const slots = checkCount('slots', options.slots ?? 1)
    const threads = checkCount('threads', options.threads ?? this.#options.threads ?? (await physicalParallelism()))
    const report = (from: number, to: number, step: string) => (fraction: number) =>
      options.onProgress?.(from + (to - from) * fraction, step)

    report(0, progress.read, 'reading the run directory')(0)
    const directory = await readRunDirectory(runDirectory, { adapter: options.adapter ?? true })
    const configFile = join(runDirectory, 'config.json')
    const config = parseModelConfig(configFile, directory.configuration, directory.generation)
    const contextLength = Math.min(
      checkCount('maxContext', options.maxContext ?? config.contextLength),
      config.contextLength
    )
    const tokenizer = new Tokenizer(
      join(runDirectory, 'tokenizer.json'),
      directory.tokenizer,
      directory.tokenizerConfiguration
    )
    const template = chatTemplate(directory, tokenizer)
    signal?.throwIfAborted()

    const { cacheDirectory } = this.#options
    const { digest, sizeBytes } = await digestFiles(runDirectory, directory.files, {
      cacheDirectory,
      signal,
      onProgress: report(progress.read, progress.digest, 'hashing the files')
    })
    const quantization = chooseQuantization(options.quantization ?? this.#options.quantization ?? 'auto', {
      parameters: [...directory.tensors.values()].reduce((sum, { shape }) => sum + elementCount(shape), 0),
      device: 'cpu'
    })
    const runtime = this.#openRuntime()
    const prepared = await prepareWeights({
      directory,
      config,
      digest,
      quantization,
      runtime,
      threads,
      cacheDirectory,
      signal,
      onProgress: report(
        progress.digest,
        progress.weights,
        quantization === 'none' ? 'converting the weights' : 'quantising the weights'
      ),
      onUncached: reason => this.#warn('Converted weights stay in memory, since the cache cannot be written', reason)
    })
    report(progress.weights, progress.session, 'building the session')(0)
    const session = await runtime.createSession({
      model: buildDecoder(config, prepared.weights, contextLength),
      weights: prepared.external,
      threads,
      signal
    })
    if (signal?.aborted) await session.close()
    signal?.throwIfAborted()
    const cache = new CachePool({ runtime, config, slots, contextLength })
    const decoder = new DecoderSession({
      runtime,
      session,
      config,
      cache,
      chunk: this.#options.promptChunk ?? DEFAULT_PROMPT_CHUNK,
      logitRows: slots
    })
    report(progress.weights, progress.session, 'ready')(1)
    const info: ModelInfo = {
      family: config.family,
      parameters: prepared.parameters,
      contextLength,
      vocabularySize: config.vocabularySize,
      precision: quantization === 'none' ? prepared.precision : quantization,
      quantization,
      sizeBytes,
      digest,
      device: 'cpu',
      adapter: adapterInfo(directory),
      chatTemplate: template.source
    }
    this.#openModels++
    return new OnnxModel({
      info,
      tokenizer,
      template,
      scheduler: new Scheduler({
        session: decoder,
        cache,
        maxWaiting: this.#options.maxWaiting ?? DEFAULT_MAX_WAITING
      }),
      endTokens: endTokens(config, directory, tokenizer),
      onClosed: () => {
        this.#openModels--
        return this.#closeRuntime()
      }
    })
  }

  #openRuntime(): Runtime {
    const { runtime = 'auto', require = ownRequire() } = this.#options
    this.#runtime ??= openRuntime(runtime, require, reason =>
      this.#warn("ONNX Runtime's C interface cannot be called, so it runs slower in a worker thread", reason)
    )
    return this.#runtime
  }

  #warn(message: string, reason: Error): void {
    this.#options.onWarning?.(message, reason)
  }
}

/** `best` is another word for `auto`. */
function checkDevice(device: string): void {
  if (['auto', 'best', 'cpu'].includes(device)) return
  throw inferenceErrors.create('INF_DEVICE_UNAVAILABLE', `Device ${device} is not available; available: cpu`, {
    data: { device, available: ['cpu'] },
    hint: 'This version computes on the CPU: name cpu or auto. What CUDA takes is in the README, section CUDA.'
  })
}

function checkCount(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw inferenceErrors.create('INF_OPTION_INVALID', `${name} is ${value}, not a whole number above 0`, {
    at: { path: name },
    data: { name, value }
  })
}

function adapterInfo({ adapter }: RunDirectory): ModelInfo['adapter'] {
  return adapter === null ? null : { rank: adapter.rank, alpha: adapter.alpha, targets: adapter.targets }
}
