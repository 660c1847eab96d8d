import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { parseToml, switchFile, writeSwitch } from '@svc/config'
import fc from 'fast-check'
import t from 'tap'
import { plugin, project, type TestLike } from './project.ts'

function edit(test: TestLike, text: string, name = 'web', enabled = false): string {
  const file = project(test, { 'svc.toml': text }).path('svc.toml')
  writeSwitch(file, ['plugins', name, 'enabled'], enabled)
  return readFileSync(file, 'utf8')
}

t.test('writeSwitch changes an existing key and keeps comments', async t => {
  t.equal(
    edit(
      t,
      '# top\n[plugins.web] # the server\nport = 1\nenabled   =  true # for now\n\n[plugins.other]\nenabled = true\n'
    ),
    '# top\n[plugins.web] # the server\nport = 1\nenabled   =  false # for now\n\n[plugins.other]\nenabled = true\n'
  )
})

t.test('writeSwitch adds the key to the existing table of the plugin', async t => {
  t.equal(edit(t, '[plugins.web] # c\n# d\nport = 1\n'), '[plugins.web] # c\n# d\nport = 1\nenabled = false\n')
  t.equal(edit(t, '[plugins.web]'), '[plugins.web]\nenabled = false\n')
  t.equal(edit(t, '[plugins]\nweb = { port = 1 }\n'), '[plugins]\nweb = { port = 1, enabled = false }\n')
  t.equal(edit(t, '[plugins]\nweb = {}\n'), '[plugins]\nweb = { enabled = false }\n')
  t.equal(edit(t, 'plugins = { a = { b = 1 } }\n'), 'plugins = { a = { b = 1 }, web.enabled = false }\n')
  t.equal(edit(t, '[plugins]\n  web.port = 1 # c\n'), '[plugins]\n  web.port = 1 # c\n  web.enabled = false\n')
  t.equal(edit(t, 'plugins.web.port = 1\n'), 'plugins.web.port = 1\nplugins.web.enabled = false\n')
})

t.test('writeSwitch adds a table if the plugin has none', async t => {
  t.equal(edit(t, '[kernel]\nwatch = true'), '[kernel]\nwatch = true\n\n[plugins.web]\nenabled = false\n')
  t.equal(
    edit(t, '[plugins.web.tls]\nverify = true\n'),
    '[plugins.web.tls]\nverify = true\n\n[plugins.web]\nenabled = false\n'
  )
  t.equal(edit(t, ''), '[plugins.web]\nenabled = false\n')
  t.equal(edit(t, '# only a comment\n'), '# only a comment\n\n[plugins.web]\nenabled = false\n')
  t.equal(edit(t, '', 'a b', true), '[plugins."a b"]\nenabled = true\n')
})

t.test('writeSwitch keeps line endings', async t => {
  t.equal(edit(t, '[plugins.web]\r\nport = 1\r\n'), '[plugins.web]\r\nport = 1\r\nenabled = false\r\n')
})

t.test('writeSwitch creates a missing file and leaves no temporary file', async t => {
  const here = project(t)
  writeSwitch(here.path('svc.toml'), ['plugins', 'web', 'enabled'], true)
  t.equal(readFileSync(here.path('svc.toml'), 'utf8'), '[plugins.web]\nenabled = true\n')
  t.strictSame(readdirSync(here.root), ['svc.toml'])
})

t.test('switchFile names the local file if it takes precedence or the project file cannot be edited', async t => {
  const where = (files: Readonly<Record<string, string>>) => {
    const here = project(t, files)
    const paths = { projectFile: here.path('svc.toml'), localFile: here.path('svc.local.toml') }
    const { file, why } = switchFile(paths, ['plugins', 'web', 'enabled'], false)
    return [file.slice(here.root.length + 1), why?.replaceAll(`${here.root}/`, '') ?? null]
  }
  t.same(where({}), ['svc.toml', null])
  t.same(where({ 'svc.toml': '[kernel]', 'svc.local.toml': '[kernel' }), ['svc.toml', null])
  t.same(where({ 'svc.toml': '[kernel' }), ['svc.local.toml', 'svc.toml is not valid TOML'])
  t.same(where({ 'svc.local.toml': 'plugins.web.enabled = true' }), [
    'svc.local.toml',
    'it takes precedence over svc.toml'
  ])
  t.throws(() => where({ 'svc.toml': '[kernel', 'svc.local.toml': '[kernel' }), { code: 'CFG_TOML_SYNTAX' })
})

t.test('writeSwitch keeps file mode and symbolic links', async t => {
  const here = project(t, { 'real.toml': '' })
  chmodSync(here.path('real.toml'), 0o600)
  symlinkSync('real.toml', here.path('svc.toml'))
  writeSwitch(here.path('svc.toml'), ['plugins', 'web', 'enabled'], true)
  t.ok(lstatSync(here.path('svc.toml')).isSymbolicLink())
  t.equal(statSync(here.path('real.toml')).mode & 0o777, 0o600)
  t.equal(readFileSync(here.path('real.toml'), 'utf8'), '[plugins.web]\nenabled = true\n')
})

t.test('writeSwitch does not change a file that is invalid or cannot be edited', async t => {
  for (const [text, code] of [
    ['[plugins.web\n', 'CFG_TOML_SYNTAX'],
    ['plugins = 5\n', 'CFG_EDIT_FAILED'],
    ['[[plugins.web]]\nport = 1\n', 'CFG_EDIT_FAILED']
  ] as const) {
    const file = project(t, { 'svc.toml': text }).path('svc.toml')
    t.throws(() => writeSwitch(file, ['plugins', 'web', 'enabled'], true), { code, at: { file } }, text)
    t.equal(readFileSync(file, 'utf8'), text)
  }
})

t.test('for any layout: writeSwitch changes only the key', async t => {
  const layouts = fc.constantFrom(
    '[plugins.web]\n# keep\nport = 1 # keep\n',
    '[plugins.web]\nenabled = true # keep\nport = 1\n',
    'plugins.web.port = 1 # keep\n',
    '[plugins]\n# keep\nweb.port = 1\nother.port = 2\n',
    'plugins = { web = { port = 1 } } # keep\n',
    '[plugins.web.tls]\nverify = true # keep\n[plugins.web]\n',
    '# keep\n'
  )
  const prefix = fc.constantFrom('', '# head\n\n', 'top = 1\n')
  const file = project(t).path('svc.toml')
  const { writeFileSync } = await import('node:fs')
  fc.assert(
    fc.property(prefix, layouts, fc.boolean(), (head, body, enabled) => {
      const before = head + body
      writeFileSync(file, before)
      writeSwitch(file, ['plugins', 'web', 'enabled'], enabled)
      const after = readFileSync(file, 'utf8')
      const web = (parseToml(after).plugins as { web: { enabled: boolean } }).web
      const again = after
      writeSwitch(file, ['plugins', 'web', 'enabled'], enabled)
      return (
        web.enabled === enabled &&
        after.split('# keep').length === before.split('# keep').length &&
        readFileSync(file, 'utf8') === again
      )
    })
  )
})

t.test('the configuration reads the written value', async t => {
  const here = project(t, { 'svc.toml': '[plugins.web]\n' })
  writeSwitch(here.path('svc.toml'), ['plugins', 'web', 'enabled'], false)
  const config = here.resolve([plugin('web', { type: 'object' })])
  t.equal(config.plugins.get('web')?.enabled, false)
})
