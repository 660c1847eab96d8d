import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { externalServingHandoffSchema } from '@svc/contracts'
import t from 'tap'

t.test('handoffs are validated against the published schema', async t => {
  const file = join(import.meta.dirname, '../../../contracts/eval/external-serving-handoff.schema.json')
  const { $schema, title, description, ...published } = JSON.parse(await readFile(file, 'utf8'))
  t.equal($schema, 'https://json-schema.org/draft/2020-12/schema')
  t.type(title, 'string')
  t.type(description, 'string')
  t.same(published, JSON.parse(JSON.stringify(externalServingHandoffSchema)))
})
