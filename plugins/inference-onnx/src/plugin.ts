import { resolve } from 'node:path'
import { inferenceEmbeddings, inferenceEngine } from '@svc/contracts'
import { defined, definePlugin, t } from '@svc/plugin-sdk'
import { OnnxEmbeddings } from './embedding/engine.ts'
import { OnnxEngine } from './engine.ts'
import { gpuOptions, gpuSettings } from './gpu-settings.ts'
import { mergeCommand, runMerge } from './merge/command.ts'
import { findLibrary, ownRequire, packageVersion } from './ort/library.ts'
import { installCommand, runInstall } from './provider/command.ts'
import { doctorHandler, installHandler } from './provider/handlers.ts'
import { doctorGpu, installGpu } from './provider/operations.ts'
import { quantizationChoices } from './quantization.ts'

export default definePlugin({
  name: 'inference-onnx',
  summary: 'Runs decoder language models, embedding models and rerankers on ONNX Runtime',
  config: t.object({
    device: t.string({
      description: 'Default device of a load. best is a synonym of auto.',
      pattern: '^(auto|best|cpu|cuda(:[0-9]+)?|webgpu|metal)$',
      default: 'auto',
      'x-env': 'SVC_CANDLE_DEVICE'
    }),
    threads: t.optional(
      t.integer({
        description: 'Threads per model. Default: the number of cores that the process may use.',
        minimum: 1
      })
    ),
    cache_directory: t.string({
      description: 'Folder of converted weights, relative to the project. It may be emptied at any time.',
      minLength: 1,
      default: '.vox/cache/models'
    }),
    runtime: t.enum(['auto', 'native', 'worker'], {
      description: 'How ONNX Runtime is called: native, or in a worker thread, which is slower. auto prefers native.',
      default: 'auto'
    }),
    quantization: t.enum(quantizationChoices, {
      description:
        'Default quantisation of weights: none keeps those of the checkpoint, q8 uses 8 bits, q4 uses 4 bits. auto uses q8 on the CPU for models with at least 256 million weights and for quantised GGUF files, whose Q4_0 stays as it is.',
      default: 'auto'
    }),
    prompt_chunk: t.integer({
      description: 'Maximum prompt tokens per run; other sequences run between chunks of a prompt.',
      minimum: 1,
      maximum: 4096,
      default: 256
    }),
    max_waiting: t.integer({
      description: 'Maximum requests that wait for a slot of one model; further ones are rejected.',
      minimum: 0,
      default: 64
    }),
    speculation: t.integer({
      description: 'Maximum drafted tokens while a model generates a single sequence; 0 disables speculation.',
      minimum: 0,
      maximum: 64,
      default: 8
    }),
    experimental_optimizer: t.boolean({
      description: 'Whether adapters that were trained in an optimizer experiment mode may be merged.',
      default: false,
      'x-env': 'SVC_MODELS_EXPERIMENTAL_OPTIMIZER',
      'x-env-type': 'truthy'
    }),
    ...gpuSettings
  }),
  provides: [inferenceEngine, inferenceEmbeddings],
  operations: [doctorGpu, installGpu],
  commands: [installCommand, mergeCommand],
  permissions: { fsRead: ['.'], fsWrite: ['.vox/cache/models', '.vox/gpu'], nativeAddons: true, worker: true },
  activate(ctx) {
    const { config } = ctx
    const directory = resolve(ctx.projectRoot, config.gpu_library_directory)
    const engine = new OnnxEngine({
      device: config.device,
      runtime: config.runtime,
      ...defined({ threads: config.threads }),
      quantization: config.quantization,
      cacheDirectory: resolve(ctx.projectRoot, config.cache_directory),
      promptChunk: config.prompt_chunk,
      maxWaiting: config.max_waiting,
      speculation: config.speculation,
      gpu: gpuOptions(directory, config),
      onNote: message => ctx.log.info(message),
      onWarning: (message, reason) => ctx.log.warn(message, { reason: reason.message })
    })
    ctx.provide(inferenceEngine, engine)
    const embeddings = new OnnxEmbeddings({
      cacheDirectory: resolve(ctx.projectRoot, config.cache_directory),
      quantization: config.quantization,
      onUncached: reason =>
        ctx.log.warn('Converted weights stay in memory, because the cache is not writable', { reason: reason.message }),
      openRuntime: () => engine.openRuntime(),
      threads: () => engine.threads()
    })
    ctx.provide(inferenceEmbeddings, embeddings)
    const provider = { engine, projectRoot: ctx.projectRoot, directory, core: ownCore() }
    ctx.implement(doctorGpu, doctorHandler(provider))
    ctx.implement(installGpu, installHandler(provider))
    ctx.command(installCommand.command, runInstall(provider))
    ctx.command(
      mergeCommand.command,
      runMerge({
        runtime: () => engine.openRuntime(),
        threads: () => engine.threads(),
        experimental: () => config.experimental_optimizer
      })
    )
    return async () => {
      await embeddings.close()
      await engine.close()
    }
  }
})

/** Returns path and version of ONNX Runtime's library; null if it is not installed. */
function ownCore(): { readonly path: string; readonly version: string } | null {
  const require = ownRequire()
  try {
    return { path: findLibrary(require), version: packageVersion(require) }
  } catch {
    return null
  }
}
