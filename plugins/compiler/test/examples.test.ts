import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFile, formatFile, SourceFile } from '#root'

const folder = join(import.meta.dirname, '..', '..', '..', 'examples', 'language')
const names = readdirSync(folder).filter(name => name.endsWith('.vox'))
const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }

for (const name of names) {
  t.test(`${name} is valid and formatted`, async t => {
    const file = new SourceFile(name, readFileSync(join(folder, name), 'utf8'))
    t.same(checkFile(file, options).diagnostics, [])
    t.equal(formatFile(file).text, file.text)
  })
}

t.test('the README of the examples lists every example', async t => {
  const list = readFileSync(join(folder, 'README.md'), 'utf8')
  for (const name of names) t.match(list, `[${name}](${name})`)
})
