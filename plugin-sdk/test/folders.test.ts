import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, makePrivateFolder } from '@svc/plugin-sdk/folders'
import t from 'tap'

t.test('makeFolder creates a folder with its parents and does not change an existing one', t => {
  const root = t.testdir({ there: { 'note.txt': 'kept' } })
  makeFolder(join(root, 'a/b/c'))
  makeFolder(join(root, 'a/b/c/'))
  t.equal(statSync(join(root, 'a/b/c')).isDirectory(), true)
  makeFolder(join(root, 'there'))
  t.equal(existsSync(join(root, 'there/note.txt')), true)
  symlinkSync(join(root, 'there'), join(root, 'link'))
  makeFolder(join(root, 'link/below'))
  t.equal(existsSync(join(root, 'there/below')), true)
  t.end()
})

t.test(
  'makePrivateFolder creates folders that only their user can read, and does not change an existing one',
  { skip: process.platform === 'win32' ? 'Windows has no such permissions' : false },
  t => {
    const before = process.umask(0)
    t.teardown(() => process.umask(before))
    const root = t.testdir({})
    const modeOf = (path: string): number => statSync(join(root, path)).mode & 0o777
    makeFolder(join(root, 'open'))
    makePrivateFolder(join(root, 'open/a/b'))
    t.same([modeOf('open'), modeOf('open/a'), modeOf('open/a/b')], [0o777, 0o700, 0o700])
    t.end()
  }
)

t.test('the error of makeFolder names a file in the path', t => {
  const root = t.testdir({})
  writeFileSync(join(root, 'file'), '')
  t.throws(() => makeFolder(join(root, 'file')), { code: 'EEXIST' })
  t.throws(() => makeFolder(join(root, 'file/below/it')), { code: 'ENOTDIR' })
  symlinkSync(join(root, 'nowhere'), join(root, 'broken'))
  t.throws(() => makeFolder(join(root, 'broken')), { code: 'EEXIST' })
  t.end()
})

t.test(
  'makeFolder below /proc throws instead of hanging',
  {
    skip: existsSync('/proc/self') ? false : '/proc does not exist'
  },
  t => {
    t.throws(() => makeFolder('/proc/x'), { code: 'ENOENT' })
    t.throws(() => makeFolder('/proc/x/y/z'), { code: 'ENOENT' })
    t.end()
  }
)
