import { access, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A larger configuration is not read. */
const MAX_CONFIGURATION_BYTES = 4 << 20

/** Names the setting that serves a kind of model. */
export const EMBEDDING_HINT =
  'Set plugins.model-server.embedding_model or reranker_model to its folder, or start svc model serve with --embedding-model or --reranker-model.'

/**
 * Returns what the model of a folder computes in place of text, as its files show it: `modules.json` is the list of
 * steps of an embedding model. Null for text, and if the files do not show it.
 */
export async function embeddingKind(path: string): Promise<'embedding model' | 'reranker' | null> {
  if (await isPresent(join(path, 'modules.json'))) return 'embedding model'
  const { model_type: family, architectures } = await readConfiguration(join(path, 'config.json'))
  if (family === 'model2vec') return 'embedding model'
  const [architecture] = Array.isArray(architectures) ? (architectures as unknown[]) : []
  return typeof architecture === 'string' && architecture.endsWith('ForSequenceClassification') ? 'reranker' : null
}

async function isPresent(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false
  )
}

async function readConfiguration(file: string): Promise<{ model_type?: unknown; architectures?: unknown }> {
  try {
    if ((await stat(file)).size > MAX_CONFIGURATION_BYTES) return {}
    return (JSON.parse(await readFile(file, 'utf8')) ?? {}) as object
  } catch {
    return {}
  }
}
