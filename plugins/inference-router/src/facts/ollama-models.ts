import { plainName } from '../model-name.ts'
import type { ModelFacts } from './facts.ts'
import type { FactsClient } from './facts-client.ts'

/**
 * Reads `GET /api/tags` and `GET /api/ps`. Both list `models` with `name`, `modified_at` and `details.parent_model`;
 * `/api/ps` adds `context_length`, `size_vram` and `expires_at` (docs.ollama.com/api/tags and /api/ps).
 */
export async function ollamaModels(client: FactsClient): Promise<ReadonlyMap<string, ModelFacts>> {
  const [tags, running] = await Promise.all([client.rows('/api/tags', 'models'), client.rows('/api/ps', 'models')])
  const loaded = new Map(running.flatMap(row => (typeof row.name === 'string' ? [[plainName(row.name), row]] : [])))
  const models = new Map<string, ModelFacts>()
  for (const tag of tags) {
    if (typeof tag.name !== 'string') continue
    const parent = (tag.details as { parent_model?: unknown } | undefined)?.parent_model
    const own = loaded.get(plainName(tag.name)) ?? null
    models.set(plainName(tag.name), {
      name: tag.name,
      parent: typeof parent === 'string' && parent !== '' ? plainName(parent) : null,
      loaded: own !== null,
      created: Math.floor((Date.parse(String(tag.modified_at)) || 0) / 1000),
      contextLength: typeof own?.context_length === 'number' ? own.context_length : null,
      tag,
      running: own
    })
  }
  return models
}
