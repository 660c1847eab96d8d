import t from 'tap'
import { CleanFiles } from '#lsp'

t.test('a file is reported when it loses its last finding, at most once in two minutes', t => {
  let now = 0
  const files = new CleanFiles(() => now)
  t.equal(files.update('a', 0), false, 'a file that never had a finding is not reported')
  t.equal(files.update('a', 2), false)
  t.equal(files.update('a', 1), false)
  t.equal(files.update('a', 0), true)
  t.equal(files.update('a', 0), false)
  now = 119_999
  files.update('a', 1)
  t.equal(files.update('a', 0), false, 'a file is not reported twice in two minutes')
  files.update('b', 1)
  t.equal(files.update('b', 0), true, 'the limit applies to each file separately')
  now = 120_000
  files.update('a', 1)
  t.equal(files.update('a', 0), true)
  t.end()
})

t.test('the findings of a closed file are forgotten', t => {
  const files = new CleanFiles(() => 0)
  files.update('a', 1)
  files.close('a')
  t.equal(files.update('a', 0), false)
  t.end()
})
