import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { OnnxEmbeddings } from '../../plugins/inference-onnx/src/embedding/engine.ts'
import { openRuntime, ownRequire } from '../../plugins/inference-onnx/src/ort/index.ts'
import { childArgument } from '../inference/child.ts'
import type { EmbeddingAnswer, EmbeddingOptions, EmbeddingQuestion } from './contestant.ts'

/** Returns the vectors of the texts, in order. */
type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>

async function openOwn({ model, threads, scratch, quantization = 'none' }: EmbeddingOptions): Promise<Embed> {
  const engine = new OnnxEmbeddings({
    cacheDirectory: join(scratch, 'cache'),
    quantization: 'auto',
    onUncached: reason => {
      throw reason
    },
    openRuntime: () => openRuntime('native', ownRequire(), () => {}),
    threads: async () => threads
  })
  const embedder = await engine.load({ directory: model, threads, quantization })
  return async texts => rows(await embedder.embed(texts, { truncate: true }))
}

/** Part of @huggingface/transformers that is used. */
interface Transformers {
  readonly env: { allowRemoteModels: boolean; localModelPath: string }
  pipeline(
    task: string,
    name: string,
    options: object
  ): Promise<(texts: readonly string[], options: object) => Promise<{ data: Float32Array; dims: readonly number[] }>>
}

async function openTransformers({ model, threads, scratch }: EmbeddingOptions): Promise<Embed> {
  const require = createRequire(join(scratch, 'package.json'))
  const { env, pipeline } = require('@huggingface/transformers') as Transformers
  env.allowRemoteModels = false
  env.localModelPath = dirname(model)
  const extract = await pipeline('feature-extraction', basename(model), {
    dtype: 'fp32',
    device: 'cpu',
    session_options: { intraOpNumThreads: threads }
  })
  return async texts => {
    const { data, dims } = await extract(texts, { pooling: 'mean', normalize: true })
    return rows({ values: data, count: dims[0] as number, dimensions: dims[1] as number })
  }
}

interface Matrix {
  readonly values: Float32Array
  readonly count: number
  readonly dimensions: number
}

function rows({ values, count, dimensions }: Matrix): readonly Float32Array[] {
  return Array.from({ length: count }, (_, row) => values.subarray(row * dimensions, (row + 1) * dimensions))
}

const argument = childArgument<EmbeddingOptions>()
const embed = await (argument.engine === 'svc' ? openOwn(argument) : openTransformers(argument))
process.on('message', async ({ texts, batch }: EmbeddingQuestion) => {
  const vectors: number[][] = []
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  for (let at = 0; at < texts.length; at += batch) {
    for (const vector of await embed(texts.slice(at, at + batch))) vectors.push([...vector])
  }
  const [ms, { user, system }] = [performance.now() - start, process.cpuUsage(cpu)]
  process.send?.({ ms, cpuMs: (user + system) / 1000, vectors } satisfies EmbeddingAnswer)
})
process.send?.('ready')
