import type { Quantization } from '@svc/contracts'
import { inferenceErrors } from '../errors.ts'
import { type DecoderConfig, parseModelConfig } from '../model-config.ts'
import { buildDecoder, type DecoderSurface, engineSurface } from '../onnx/decoder.ts'
import { elementCount, type OrtSession } from '../ort/runtime.ts'
import { chooseQuantization, type QuantizationChoice, storedWeights } from '../quantization.ts'
import { readRunDirectory } from '../run-directory.ts'
import { type PrepareOptions, prepareWeights } from '../weights/prepare.ts'
import { contextOf } from './context.ts'
import type { EmbedderFolder } from './embedder-folder.ts'
import { fillTexts, type PrepareRun, rowsOf } from './encoder-model.ts'

/** Surface of a graph that reads each text in one run. */
const wholeTexts: DecoderSurface = { ...engineSurface, cached: false }

export interface DecoderEmbedder {
  readonly config: DecoderConfig
  readonly session: OrtSession
  readonly contextLength: number
  readonly parameters: number
  readonly quantization: Quantization
  readonly prepare: PrepareRun
}

type Options = Pick<PrepareOptions, 'digest' | 'runtime' | 'threads' | 'cacheDirectory' | 'onUncached' | 'signal'> & {
  readonly quantization: QuantizationChoice
}

/**
 * Opens a decoder whose state at the last token is the vector of a text. Throws `INF_ARCHITECTURE_UNSUPPORTED` for
 * another pooling and for rerankers, and `INF_RUN_DIR_*`.
 */
export async function openDecoderEmbedder(folder: EmbedderFolder, options: Options): Promise<DecoderEmbedder> {
  const { modules, config: fields, modelPath } = folder
  if (folder.isReranker) throw fields.unsupported('architectures', fields.values.architectures, 'Qwen3Model')
  if (modules.pooling !== 'lasttoken') {
    throw inferenceErrors.create(
      'INF_ARCHITECTURE_UNSUPPORTED',
      `${modelPath}: the pooling ${modules.pooling} is not supported for qwen3; supported: lasttoken`,
      { at: { file: modelPath }, data: { field: 'pooling_mode', value: modules.pooling, supported: 'lasttoken' } }
    )
  }
  const { runtime, threads, signal, quantization: choice } = options
  const directory = await readRunDirectory(modelPath, { adapter: true })
  const config = parseModelConfig(fields.file, directory.configuration, directory.generation)
  const contextLength = contextOf(folder, config.contextLength, config.heads)
  const quantization = chooseQuantization(choice, {
    parameters: [...directory.tensors.values()].reduce((sum, { shape }) => sum + elementCount(shape), 0),
    device: 'cpu',
    stored: storedWeights(directory.tensors.values())
  })
  const { weights, external, parameters } = await prepareWeights({
    ...options,
    directory,
    config,
    quantization,
    onProgress: () => undefined
  })
  const session = await runtime.createSession({
    model: buildDecoder(config, weights, contextLength, { surface: wholeTexts, embeds: true }),
    weights: external,
    threads,
    signal
  })
  return { config, session, contextLength, parameters, quantization, prepare: decoderRuns(config.hiddenSize) }
}

function decoderRuns(size: number): PrepareRun {
  return (runtime, texts, length) => {
    const count = texts.length
    const tokens = runtime.host('int64', [count, length])
    const last = runtime.host('int32', [count])
    const total = runtime.host('int32', [])
    const positions = runtime.host('int64', [count])
    const result = runtime.host('float32', [count, size])
    fillTexts(texts, length, tokens.data as BigInt64Array, null)
    total.data[0] = length
    for (const [row, text] of texts.entries()) {
      last.data[row] = text.tokens.length - 1
      positions.data[row] = BigInt(row * length + text.tokens.length - 1)
    }
    return {
      inputs: { input_ids: tokens, last_positions: last, total_length: total, logit_positions: positions },
      outputs: { embedding: result },
      rows: () => rowsOf(result.data, size)
    }
  }
}
