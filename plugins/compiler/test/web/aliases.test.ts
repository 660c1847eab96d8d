import { readFileSync } from 'node:fs'
import t from 'tap'
import { build, filesIn } from './building.ts'

const ALIASES = readFileSync(new URL('components/aliases.vox', import.meta.url), 'utf8')

t.test('an alias of a type is read as that type in forms, addresses, loaders, clients and documents', async t => {
  const folder = t.testdir({ 'app.vox': ALIASES })
  const { code, err } = await build(`${folder}/app.vox`, `${folder}/dist`)
  t.equal(code, 0, err)
  const files = filesIn(`${folder}/dist`)
  const text = (path: string): string => files[path] ?? ''

  t.match(text('forms.tsx'), /<input name="age" type="number" \/>/, 'an int of another name is a number')
  t.match(text('forms.tsx'), /<input name="mark" type="checkbox" \/>/)
  const sent = "add($int(String(data.get('age'))), String(data.get('name') ?? '') || null, data.has('mark'))"
  t.ok(text('forms.tsx').includes(sent), 'an Option of another name may be empty')

  const routes = text('routes.manifest.ts')
  t.ok(routes.includes("{ id: $client.$int(params['id']) }"), 'an address has a number')
  const loader = "$client.find($client.$int(params['id']), params['name'] === undefined ? null : params['name'] ?? '')"
  t.ok(routes.includes(loader), 'a query parameter may be missing')

  t.match(text('vox-client.ts'), /add: \(age: Age, name: Name, mark: Flag\): Promise<number>/, 'a Result has its value')
  const document = JSON.parse(text('openapi.json'))
  const response = document.paths['/api/mutation/add'].post.responses['200']
  t.match(response.content['application/json'].schema, { type: 'integer' })
})
