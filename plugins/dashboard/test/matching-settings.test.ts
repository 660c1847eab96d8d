import t from 'tap'
import { matchingSettings } from '#matching-settings'

const settings = [
  { key: 'plugins.http.timeout', description: 'Also counts for the port of the console' },
  { key: 'plugins.web.exports', description: 'Folder of exports; supports globs' },
  { key: 'plugins.http.port', description: 'Where it listens' },
  { key: 'plugins.mesh.base_port', description: 'First of its ports' }
]
const found = (filter: string) => matchingSettings(settings, filter).map(({ key }) => key)

t.test('a word matches where a word begins, keys before descriptions', t => {
  t.same(found('port'), ['plugins.http.port', 'plugins.mesh.base_port', 'plugins.http.timeout'])
  t.same(found('PORT http'), ['plugins.http.port', 'plugins.http.timeout'])
  t.end()
})

t.test('a word matches inside of words if nothing begins with it', t => {
  t.same(found('ports'), ['plugins.mesh.base_port'])
  t.same(found('xport'), ['plugins.web.exports'])
  t.same(found('upports'), ['plugins.web.exports'])
  t.end()
})

t.test('the beginning of a key finds all settings below it; no filter finds all', t => {
  t.same(found('plugins.http.'), ['plugins.http.timeout', 'plugins.http.port'])
  t.equal(found('').length, 4)
  t.same(found('nothing of this'), [])
  t.end()
})
