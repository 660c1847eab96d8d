import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConfigSources, emptiedFiles, readSources } from '@svc/config'
import t from 'tap'

t.test('emptiedFiles returns files that lost all settings or were deleted', async t => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-config-')))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const [file, local] = [join(root, 'svc.toml'), join(root, 'svc.local.toml')]
  const read = (text: string | null): ConfigSources => {
    if (text === null) rmSync(file)
    else writeFileSync(file, text)
    return readSources({ cwd: root, env: { HOME: root }, defaultsFile: null, set: ['kernel.watch=true'] })
  }
  writeFileSync(local, '[kernel]\nlog_level = "warn"\n')
  const before = read('[kernel]\nwatch = false\n')
  t.same(emptiedFiles(before, read('[kernel]\nwatch = true\n')), [])
  t.same(emptiedFiles(before, read('')), [file])
  t.same(emptiedFiles(before, read('# only a comment\n')), [file])
  t.same(emptiedFiles(before, read('[kernel')), [], 'a file with a syntax error is not listed')
  t.same(emptiedFiles(read(''), read('')), [], 'a file that was already empty is not listed')
  t.same(emptiedFiles(before, read(null)), [file])
})
