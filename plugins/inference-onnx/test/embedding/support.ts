import { join, resolve } from 'node:path'
import { OnnxEmbeddings } from '#embedding'
import { openEngine, temporaryFolder } from '../support/models.ts'

export const fixtures = resolve(import.meta.dirname, '../fixtures/embeddings')

interface Teardown {
  teardown(run: () => Promise<void>): void
}

/** Opens the loader of embedding models on the CPU, until the test ends. */
export async function openEmbeddings(t: Teardown, quantization: 'auto' | 'q8' = 'auto'): Promise<OnnxEmbeddings> {
  const engine = await openEngine(t)
  const embeddings = new OnnxEmbeddings({
    cacheDirectory: join(await temporaryFolder(t), 'cache'),
    quantization,
    onUncached: reason => {
      throw reason
    },
    openRuntime: () => engine.openRuntime(),
    threads: async () => 1
  })
  t.teardown(() => embeddings.close())
  return embeddings
}
