import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { DeviceInfo, InferenceEngine, LoadedModel, LoadOptions, ModelInfo } from '@svc/contracts'
import { HotAdapters } from './adapters/hot-adapters.ts'
import { openBase } from './adapters/open-base.ts'
import { CachePool } from './batching/cache-pool.ts'
import { Scheduler } from './batching/scheduler.ts'
import { buildGraph, takeExported } from './decoder-graph.ts'
import { DecoderSession } from './decoder-session.ts'
import type { DeviceGraphsChoice } from './device/device-graphs.ts'
import { Devices, type OpenDevice } from './device/devices.ts'
import type { Diagnosis } from './device/diagnosis.ts'
import type { Host } from './device/host.ts'
import type { ConfiguredGpu } from './device/nvidia.ts'
import type { PrecisionChoice } from './device/precision.ts'
import type { Survey } from './device/survey.ts'
import { digestFiles } from './digest.ts'
import { inferenceErrors } from './errors.ts'
import { OnnxModel } from './model.ts'
import { readSource } from './model-source.ts'
import { findLibrary, ownRequire, packageVersion } from './ort/library.ts'
import { openRuntime, type RuntimeKind } from './ort/open.ts'
import type { Runtime } from './ort/runtime.ts'
import { chatTemplate, endTokens } from './prompt-format.ts'
import type { QuantizationChoice } from './quantization.ts'
import { type RunDirectory, readRunDirectory } from './run-directory.ts'
import { TemplateThreads } from './template-threads.ts'
import { physicalParallelism } from './threads.ts'
import { Tokenizer } from './tokenizer.ts'
import { TensorNames } from './weights/tensor-names.ts'

export interface OnnxEngineOptions {
  /** Folder of converted weights and digests. It may be read-only, or emptied at any time. */
  readonly cacheDirectory: string
  readonly runtime?: RuntimeKind
  /** Resolves the packages of ONNX Runtime; default: from this package. */
  readonly require?: NodeJS.Require
  /** Device of loads that name none. */
  readonly device?: string
  /** Threads of loads that name none. */
  readonly threads?: number
  /** Quantisation of loads that name none; default `auto`. */
  readonly quantization?: QuantizationChoice
  /** Maximum prompt tokens per run; default 256. */
  readonly promptChunk?: number
  /** Maximum number of requests that wait for a slot of one model; default 64. */
  readonly maxWaiting?: number
  /** Maximum number of drafted tokens when a single sequence runs; 0 disables speculation; default 8. */
  readonly speculation?: number
  readonly gpu?: GpuOptions
  /** Receives informational notices, each once. */
  onNote?(message: string): void
  /** Receives notices about fallbacks. */
  onWarning?(message: string, reason: Error): void
}

export interface GpuOptions {
  /** Folder of the CUDA provider and its libraries; default: `gpu` in the cache folder. */
  readonly libraryDirectory?: string
  /** GPU from the settings; the driver is then not queried. */
  readonly configuredGpu?: ConfiguredGpu
  /** GPU memory that may be used, in bytes; default: the free memory that the driver reports. */
  readonly memoryBytes?: number
  /** Precision on GPUs; default `auto`. */
  readonly precision?: PrecisionChoice
  /** Whether GPUs capture recurring runs; default `auto`. */
  readonly graphs?: DeviceGraphsChoice
  /** Machine in which devices are searched; default: the real one. */
  readonly host?: Host
}

const DEFAULT_PROMPT_CHUNK = 256
const DEFAULT_MAX_WAITING = 64
const DEFAULT_SPECULATION = 8
/** Progress of a load at the end of each step, as a fraction. */
const progress = { read: 0.02, digest: 0.3, weights: 0.8, session: 1 } as const

/** Inference engine on ONNX Runtime. Native libraries are loaded only by the first {@link OnnxEngine.load}. */
export class OnnxEngine implements InferenceEngine {
  readonly name: string
  readonly instance: string = randomUUID()
  readonly #options: OnnxEngineOptions
  readonly #devices: Devices
  readonly #templates = new TemplateThreads()
  #runtime: Runtime | undefined
  #openModels = 0
  #closed = false

  constructor(options: OnnxEngineOptions) {
    this.#options = options
    const { gpu = {}, cacheDirectory, require = ownRequire() } = options
    this.#devices = new Devices({
      libraryDirectory: gpu.libraryDirectory ?? join(cacheDirectory, 'gpu'),
      configuredGpu: gpu.configuredGpu,
      host: gpu.host,
      graphs: gpu.graphs,
      require,
      core: libraryOf(require),
      native: options.runtime !== 'worker',
      onFallback: message => options.onNote?.(message)
    })
    this.name = `onnxruntime ${packageVersion(options.require ?? ownRequire())}`
  }

  devices(): Promise<readonly DeviceInfo[]> {
    return this.#devices.list()
  }

  /** Returns the default device, and the reason why no better one is used. */
  diagnose(): Promise<Diagnosis> {
    return this.#devices.diagnose(this.#options.device ?? 'auto', this.name)
  }

  /** Returns the GPUs, drivers and libraries of the machine. */
  surveyDevices(): Promise<Survey> {
    return this.#devices.survey()
  }

  async load(options: LoadOptions): Promise<LoadedModel> {
    let device: OpenDevice | undefined
    try {
      device = await this.#devices.open(options.device ?? this.#options.device ?? 'auto')
      return await this.#load(options, device)
    } catch (error) {
      await device?.runtime?.close()
      if (options.signal?.aborted !== true) throw error
      throw inferenceErrors.create('INF_LOAD_CANCELLED', `The caller cancelled loading ${options.runDirectory}`, {
        cause: error
      })
    }
  }

  /**
   * Frees the runtime, immediately or when the last model is closed. Models belong to their callers, so they can
   * survive a reload of this plugin.
   */
  async close(): Promise<void> {
    this.#closed = true
    await this.#closeRuntime()
  }

  async #closeRuntime(): Promise<void> {
    if (!this.#closed) return
    if (this.#openModels > 0) return this.#templates.stopIdle()
    await Promise.all([this.#runtime?.close(), this.#templates.close()])
    this.#runtime = undefined
  }

  async #load(options: LoadOptions, device: OpenDevice): Promise<LoadedModel> {
    const { signal } = options
    const runDirectory = resolve(options.runDirectory)
    const { slots: wantedSlots = 1 } = options
    if (wantedSlots !== 'auto') checkCount('slots', wantedSlots)
    const threads = checkCount('threads', options.threads ?? (await this.threads()))
    const report = (from: number, to: number, step: string) => (fraction: number) =>
      options.onProgress?.(from + (to - from) * fraction, step)

    report(0, progress.read, 'reading the run directory')(0)
    const directory = await readRunDirectory(runDirectory, { adapter: options.adapter ?? true })
    const source = await readSource(directory)
    const { config } = source
    const contextLength = Math.min(
      checkCount('maxContext', options.maxContext ?? config.contextLength),
      config.contextLength
    )
    const tokenizer = new Tokenizer(directory.tokenizerFile, directory.tokenizer, directory.tokenizerConfiguration)
    const template = chatTemplate(directory, tokenizer, this.#templates)
    signal?.throwIfAborted()

    const { cacheDirectory } = this.#options
    const files = [...directory.files, ...(source.kind === 'exported' ? source.files : [])]
    const { digest, sizeBytes } = await digestFiles(directory.root, files, {
      cacheDirectory,
      signal,
      onProgress: report(progress.read, progress.digest, 'hashing the files')
    })
    const hostRuntime = this.openRuntime()
    const runtime = device.runtime ?? hostRuntime
    const wanted = {
      quantization: options.quantization ?? this.#options.quantization ?? 'auto',
      slots: wantedSlots,
      contextLength,
      chunk: this.#options.promptChunk ?? DEFAULT_PROMPT_CHUNK,
      device,
      gpuMemoryBytes: this.#options.gpu?.memoryBytes,
      gpuPrecision: this.#options.gpu?.precision ?? ('auto' as const)
    }
    const prepare = {
      directory,
      digest,
      runtime: hostRuntime,
      threads,
      cacheDirectory,
      onUncached: (reason: Error) =>
        this.#warn('Converted weights stay in memory, because the cache is not writable', reason)
    }
    const graph =
      source.kind === 'exported'
        ? await takeExported(source, sizeBytes, wanted, note => this.#options.onNote?.(note))
        : await buildGraph(source.config, wanted, {
            ...prepare,
            signal,
            onNote: note => this.#options.onNote?.(note),
            report: step => report(progress.digest, progress.weights, step)
          })
    report(progress.weights, progress.session, 'building the session')(0)
    // Adapters open a second session over the same weights.
    const share = runtime.shareWeights?.() ?? null
    const session = await runtime
      .createSession({
        model: graph.model,
        weights: graph.weights,
        threads,
        uncapturable: graph.uncapturable,
        share,
        signal
      })
      .catch((error: unknown) => {
        share?.release()
        throw error
      })
    const discard = async (error: unknown): Promise<never> => {
      await session.close()
      share?.release()
      throw error
    }
    if (signal?.aborted) await discard(signal.reason)
    const { slots, cachePrecision, copiesRows } = graph
    const cache = new CachePool({ runtime, config, slots, contextLength, precision: cachePrecision, copiesRows })
    // A rejected draft would need states to be cut back.
    const maxDraft = cache.recurrent ? 0 : (this.#options.speculation ?? DEFAULT_SPECULATION)
    const decoder = await DecoderSession.open({
      runtime,
      session,
      config,
      cache,
      chunk: wanted.chunk,
      argmax: graph.argmax,
      logitRows: Math.max(slots, maxDraft + 1),
      candidateThreads: device.runtime === null ? threads : null
    }).catch(discard)
    report(progress.weights, progress.session, 'ready')(1)
    const info: ModelInfo = {
      family: config.family,
      parameters: graph.parameters,
      contextLength,
      vocabularySize: config.vocabularySize,
      precision: graph.precision,
      quantization: graph.quantization,
      format: source.kind === 'exported' ? 'onnx' : directory.gguf ? 'gguf' : 'safetensors',
      sizeBytes,
      digest,
      device: device.id,
      adapter: adapterInfo(directory),
      chatTemplate: template.source,
      endTokens: [...endTokens(config, directory, tokenizer)]
    }
    const checkpoint = source.kind === 'checkpoint' ? source.config : null
    const adapters =
      checkpoint === null
        ? null
        : new HotAdapters({
            runtime,
            decoder,
            config: checkpoint,
            names: new TensorNames(name => directory.tensors.has(name)),
            plain: directory.plain,
            openBase: () =>
              openBase({
                config: checkpoint,
                wanted: { ...wanted, quantization: graph.quantization },
                prepare,
                runtime,
                share
              })
          })
    this.#openModels++
    // A thread that cannot start fails the first template, not the load.
    this.#templates.warm().catch(() => undefined)
    return new OnnxModel({
      info,
      tokenizer,
      template,
      adapters,
      scheduler: new Scheduler({
        session: decoder,
        cache,
        maxDraft,
        // Linear attention would read the padding, and exports may compute positions from it.
        joinsPrompts: device.runtime === null && source.kind === 'checkpoint' && !cache.recurrent
      }),
      maxWaiting: this.#options.maxWaiting ?? DEFAULT_MAX_WAITING,
      endTokens: endTokens(config, directory, tokenizer),
      onClosed: async () => {
        share?.release()
        this.#openModels--
        await device.runtime?.close()
        await this.#closeRuntime()
      }
    })
  }

  /** Threads of loads that name none. */
  async threads(): Promise<number> {
    return this.#options.threads ?? (await physicalParallelism())
  }

  /** Opens ONNX Runtime on the CPU; it is closed with the engine. */
  openRuntime(): Runtime {
    const { runtime = 'auto', require = ownRequire() } = this.#options
    this.#runtime ??= openRuntime(runtime, require, reason =>
      this.#warn(
        "ONNX Runtime's C interface cannot be called, so the runtime uses a worker thread, which is slower",
        reason
      )
    )
    return this.#runtime
  }

  #warn(message: string, reason: Error): void {
    this.#options.onWarning?.(message, reason)
  }
}

/** Returns the path of ONNX Runtime's library; null if it is not installed. */
function libraryOf(require: NodeJS.Require): string | null {
  try {
    return findLibrary(require)
  } catch {
    return null
  }
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
