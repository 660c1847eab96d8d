import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { settings } from '#root'

t.test('the README names every setting', t => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  const names = Object.keys((settings as unknown as { properties: object }).properties)
  t.same(
    names.filter(name => !readme.includes(`\`${name}\``)),
    []
  )
  t.end()
})
