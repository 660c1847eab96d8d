import t from 'tap'
import { CleanFiles } from '../../src/lsp/clean-files.ts'

t.test('a file is reported when it loses its last finding, at most once in two minutes', t => {
  let now = 0
  const files = new CleanFiles(() => now)
  t.equal(files.update('a', 0), false, 'it never had one')
  t.equal(files.update('a', 2), false)
  t.equal(files.update('a', 1), false)
  t.equal(files.update('a', 0), true)
  t.equal(files.update('a', 0), false)
  now = 119_999
  files.update('a', 1)
  t.equal(files.update('a', 0), false, 'too soon')
  files.update('b', 1)
  t.equal(files.update('b', 0), true, 'another file has a separate time')
  now = 120_000
  files.update('a', 1)
  t.equal(files.update('a', 0), true)
  t.end()
})

t.test('a file that was closed with findings has none when it is opened again', t => {
  const files = new CleanFiles(() => 0)
  files.update('a', 1)
  files.close('a')
  t.equal(files.update('a', 0), false)
  t.end()
})
