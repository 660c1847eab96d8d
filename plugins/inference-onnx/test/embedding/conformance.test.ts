import { join } from 'node:path'
import { embeddingsSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { fixtures, openEmbeddings } from './support.ts'

const embeddings = await openEmbeddings(t)

for (const folder of ['static', 'bert', 'exported', 'qwen3']) {
  const suite = embeddingsSuite({ embeddings, directory: join(fixtures, folder) })
  for (const { name, run } of suite) t.test(`${folder}: ${name}`, run)
}
