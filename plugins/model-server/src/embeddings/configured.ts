import { basename, resolve } from 'node:path'
import type { InferenceEmbeddings } from '@svc/contracts'
import { defined, type PluginContext } from '@svc/plugin-sdk'
import { durationMs } from '../duration.ts'
import { errors } from '../errors.ts'
import type { Settings } from '../settings.ts'
import { ServedEmbedder, type ServedEmbedderOptions } from './served.ts'

type Context = Pick<PluginContext<Settings>, 'config' | 'projectRoot' | 'log' | 'effect'>

/**
 * Returns the embedding model and the reranker of the settings; they are closed with the plugin. `generates`,
 * `onChange`: see {@link ServedEmbedderOptions}.
 */
export function configuredEmbedders(
  ctx: Context,
  embeddings: InferenceEmbeddings | undefined,
  generates: ServedEmbedderOptions['generates'],
  onChange: () => void
): { readonly embedder: ServedEmbedder | null; readonly reranker: ServedEmbedder | null } {
  const { embedding_quantization: quantization } = ctx.config
  const load: ServedEmbedderOptions['load'] = async directory => {
    if (embeddings !== undefined) return embeddings.load({ directory, ...defined({ quantization }) })
    throw errors.create('MSV_MODEL_FAILED', 'no plugin loads embedding models; enable the plugin inference-onnx')
  }
  const limits: ServedEmbedderOptions['limits'] = () => ({
    requests: ctx.config.queue + 1,
    timeoutMs: ctx.config.request_timeout_seconds * 1000,
    keepMs: durationMs(ctx.config.keep_alive) as number
  })
  const served = (kind: ServedEmbedderOptions['kind'], path: string | undefined): ServedEmbedder | null => {
    if (path === undefined) return null
    const directory = resolve(ctx.projectRoot, path)
    const embedder = new ServedEmbedder({
      kind,
      name: basename(directory),
      directory,
      log: ctx.log,
      generates,
      load,
      limits,
      onChange
    })
    ctx.effect(kind, () => embedder.close())
    return embedder
  }
  return {
    embedder: served('embedding model', ctx.config.embedding_model),
    reranker: served('reranker', ctx.config.reranker_model)
  }
}
