import { plainName } from '../model-name.ts'
import type { ModelFacts } from './facts.ts'
import type { FactsClient } from './facts-client.ts'

/**
 * Reads `GET /v1/models`. vLLM lists adapters with `parent`, the id of their base model, and every model with
 * `max_model_len` (docs.vllm.ai, LoRA adapters). llama.cpp in router mode adds `status.value`, which is `loaded` for
 * models in memory; without it, every listed model counts as loaded.
 */
export async function openAiModels(client: FactsClient): Promise<ReadonlyMap<string, ModelFacts>> {
  const models = new Map<string, ModelFacts>()
  for (const row of await client.rows('/v1/models', 'data')) {
    if (typeof row.id !== 'string') continue
    const status = (row.status as { value?: unknown } | null | undefined)?.value
    models.set(plainName(row.id), {
      name: row.id,
      parent: typeof row.parent === 'string' && row.parent !== '' ? plainName(row.parent) : null,
      loaded: status === undefined || status === 'loaded',
      created: typeof row.created === 'number' ? row.created : 0,
      contextLength: typeof row.max_model_len === 'number' ? row.max_model_len : null,
      tag: null,
      running: null
    })
  }
  return models
}
