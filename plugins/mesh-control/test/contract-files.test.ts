import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { contractFiles, FOLDER } from './contract-files.ts'

t.test('the published files are those of the code', async t => {
  const files = contractFiles()
  t.same(readdirSync(FOLDER).sort(), [...files.keys()].sort())
  for (const [name, text] of files) {
    const published = readFileSync(join(FOLDER, name), 'utf8')
    const read = (file: string): unknown => (name.endsWith('.yaml') ? parse(file) : JSON.parse(file))
    t.same(read(published), read(text), `${name}; write-contract-files.ts writes it`)
  }
})

t.test('the API description has the seventeen routes, and each refuses a wrong body and a missing token', async t => {
  const { paths } = parse(contractFiles().get('mesh-v1.openapi.yaml') as string)
  const own = Object.keys(paths).filter(path => path.startsWith('/v1/mesh/') && !path.startsWith('/v1/mesh/x/'))
  t.equal(own.length + 1, 17, 'sixteen below /v1/mesh, and /health')
  for (const path of own) {
    const [[, operation]] = Object.entries(paths[path]) as [[string, { responses: Record<string, unknown> }]]
    t.ok(operation.responses[401], path)
    t.ok(operation.responses[400], path)
  }
})
