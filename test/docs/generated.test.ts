import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { generatedDocs } from '../../tools/docs.ts'
import { ROOT } from './error-codes.ts'

t.test('generated documents are up to date; if this fails, run: npm run docs', async t => {
  // All plugins are imported from their sources.
  t.setTimeout(180_000)
  for (const [path, text] of await generatedDocs()) t.equal(readFileSync(join(ROOT, path), 'utf8'), text, path)
})
