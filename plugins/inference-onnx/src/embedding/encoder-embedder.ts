import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Quantization } from '@svc/contracts'
import { buildEncoder } from '../onnx/encoder.ts'
import { OnnxGraph } from '../onnx/graph.ts'
import { elementCount, type OrtSession } from '../ort/runtime.ts'
import { chooseQuantization, type QuantizationChoice } from '../quantization.ts'
import { checkFinite } from '../weights/check-tensors.ts'
import { locateFiles } from '../weights/locations.ts'
import { cacheFolder, type PrepareOptions, packToCache } from '../weights/prepare.ts'
import { contextOf } from './context.ts'
import type { EmbedderFolder } from './embedder-folder.ts'
import { type EncoderConfig, parseEncoderConfig } from './encoder-config.ts'
import { encoderRuns, type PrepareRun } from './encoder-model.ts'
import { memoryWeights, planEncoder } from './encoder-weights.ts'

/** Version in the name of a packed file; increment it if the layout or the arithmetic changes. */
const PACK_VERSION = 1

export interface EncoderEmbedder {
  readonly config: EncoderConfig
  readonly session: OrtSession
  /** Numbers of a row; 1 for a reranker. */
  readonly size: number
  readonly contextLength: number
  readonly parameters: number
  readonly quantization: Quantization
  readonly prepare: PrepareRun
}

type Options = Pick<PrepareOptions, 'digest' | 'runtime' | 'threads' | 'cacheDirectory' | 'onUncached' | 'signal'> & {
  readonly quantization: QuantizationChoice
}

/** Returns the configuration of an encoder. Throws `INF_ARCHITECTURE_UNSUPPORTED` and `INF_RUN_DIR_MALFORMED`. */
export function readEncoderConfig({ config: fields, isReranker }: EmbedderFolder): EncoderConfig {
  const config = parseEncoderConfig(fields)
  if (!isReranker || config.traits.names.classifier !== undefined) return config
  throw fields.unsupported('architectures', fields.values.architectures, 'an encoder without a classifier')
}

/** Opens a session of an encoder. Throws `INF_RUN_DIR_*`. */
export async function openEncoder(
  folder: EmbedderFolder,
  config: EncoderConfig,
  options: Options
): Promise<EncoderEmbedder> {
  const { isReranker, tensors, modelPath, modules } = folder
  const { digest, runtime, threads, cacheDirectory, onUncached, signal } = options
  const quantization = chooseQuantization(options.quantization, {
    parameters: [...tensors.values()].reduce((sum, { shape }) => sum + elementCount(shape), 0),
    device: 'cpu'
  })
  const name = createHash('sha256').update(['encoder', PACK_VERSION, digest, quantization].join('\0')).digest('hex')
  const packedFile = join(await cacheFolder(cacheDirectory), `${name}.${quantization}`)
  const shards = [...new Set([...tensors.values()].map(({ file }) => file))]
  const locations = await locateFiles(shards, quantization === 'none' ? (shards[0] as string) : packedFile)
  const packedLocation = locations.of(packedFile) ?? ''
  const plan = planEncoder({ folder: modelPath, config, tensors, locations, isReranker, quantization, packedLocation })
  await checkFinite(plan.inPlace, { digest, cacheDirectory, signal })
  const bytes = await packToCache(plan, packedFile, {
    runtime,
    threads,
    signal,
    onUncached,
    onProgress: () => undefined
  })
  const contextLength = contextOf(folder, config.positions - config.firstPosition, config.heads)
  const graph = new OnnxGraph('encoder')
  buildEncoder(graph, config, plan.weights, contextLength)
  const inMemory = new Map(await memoryWeights(plan, signal))
  if (bytes !== null) inMemory.set(packedLocation, bytes)
  const session = await runtime.createSession({
    model: graph.toBytes(),
    weights: { folder: locations.folder, inMemory },
    threads,
    signal
  })
  const size = isReranker ? 1 : config.hiddenSize
  return {
    config,
    session,
    size,
    contextLength,
    parameters: plan.parameters,
    quantization,
    prepare: encoderRuns(config, size, isReranker ? config.classifierPooling : modules.pooling)
  }
}
