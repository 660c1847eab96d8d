import { existsSync, mkdirSync } from 'node:fs'
import { formatProblem } from '@svc/config'
import t from 'tap'
import { project, web } from './project.ts'

const port = (value: number): string => `[plugins.web]\nport = ${value}\n`

t.test('each layer overrides the ones below it', async t => {
  const steps: [string, object, number][] = [
    ['install/defaults.toml', {}, 1001],
    ['home/.config/svc/svc.toml', {}, 1002],
    ['svc.toml', {}, 1003],
    ['install/profiles/box.toml', { profile: 'box' }, 1004],
    ['svc.box.toml', { profile: 'box' }, 1005],
    ['svc.local.toml', { profile: 'box' }, 1006]
  ]
  const files: Record<string, string> = {}
  t.equal(
    project(t).resolve([web]).plugins.get('web')?.values.port,
    3847,
    'the default of the schema has the lowest precedence'
  )
  for (const [file, options, value] of steps) {
    files[file] = port(value)
    t.equal(project(t, files).resolve([web], options).plugins.get('web')?.values.port, value, file)
  }
  const all = project(t, files)
  const env = { HOME: all.path('home'), SVC_WEB_PORT: '1007' }
  t.equal(all.resolve([web], { profile: 'box', env }).plugins.get('web')?.values.port, 1007, 'environment')
  const top = all.resolve([web], { profile: 'box', env, set: ['plugins.web.port=1008', 'plugins.web.port=1009'] })
  t.equal(top.plugins.get('web')?.values.port, 1009, 'the last --set wins')
  t.strictSame(
    top.explain('plugins.web.port').overrides.map(({ layer, place, value }) => [layer, place, value]),
    [
      ['set', '--set plugins.web.port', 1008],
      ['environment', 'SVC_WEB_PORT', 1007],
      ['local', 'svc.local.toml:2:1', 1006],
      ['profile', 'svc.box.toml:2:1', 1005],
      ['profile', 'install/profiles/box.toml:2:1', 1004],
      ['project', 'svc.toml:2:1', 1003],
      ['user', 'home/.config/svc/svc.toml:2:1', 1002],
      ['defaults', 'install/defaults.toml:2:1', 1001],
      ['default', null, 3847]
    ]
  )
})

t.test('XDG_CONFIG_HOME determines the location of the user file', async t => {
  const here = project(t, { 'xdg/svc/svc.toml': port(7) })
  t.equal(here.resolve([web], { env: { XDG_CONFIG_HOME: here.path('xdg') } }).plugins.get('web')?.values.port, 7)
})

t.test('the nearest project file above the working directory determines the root', async t => {
  const here = project(t, { 'svc.toml': '', 'a/b/x': '' })
  const sources = here.read({ cwd: here.path('a/b') })
  t.equal(sources.projectRoot, here.root)
  t.equal(sources.projectFile, here.path('svc.toml'))
  t.strictSame(sources.problems, [])
})

t.test('without a project file, the root is the repository, else the working directory', async t => {
  const here = project(t, { 'repo/.git/HEAD': '', 'repo/sub/x': '', 'plain/x': '' })
  t.equal(here.read({ cwd: here.path('repo/sub') }).projectRoot, here.path('repo'))
  t.equal(here.read({ cwd: here.path('plain') }).projectRoot, here.path('plain'))
  const { files, projectFile } = here.read({ cwd: here.path('repo/sub') })
  t.equal(projectFile, here.path('repo/svc.toml'), 'the path at which a project file would be created')
  t.match(
    files,
    [here.path('repo/sub/svc.toml'), here.path('repo/svc.toml')],
    'missing files inside the repository are watched'
  )
  t.notOk(files.includes(here.path('svc.toml')), 'files outside the repository are not watched')
})

t.test('SVC_REPO_ROOT selects the project and takes precedence over its alias', async t => {
  const here = project(t, { 'svc.toml': '', 'one/svc.toml': port(1), 'two/svc.toml': port(2), 'other/sub/x': '' })
  const one = here.resolve([web], { env: { SVC_REPO_ROOT: here.path('one'), SVC_REPOSITORY_ROOT: here.path('two') } })
  t.equal(one.projectRoot, here.path('one'))
  t.equal(one.plugins.get('web')?.values.port, 1)
  t.equal(one.explain('kernel.repository_root').place, 'SVC_REPO_ROOT')
  const two = here.resolve([web], { env: { SVC_REPO_ROOT: ' ', SVC_REPOSITORY_ROOT: here.path('two') } })
  t.equal(two.projectRoot, here.path('two'), 'an empty variable counts as unset')
  const sub = here.read({ env: { SVC_REPO_ROOT: here.path('other/sub') } })
  t.equal(sub.projectRoot, here.path('other/sub'), 'the variable is the root even if svc.toml is in a parent folder')
  t.equal(sub.projectFile, here.path('svc.toml'))
})

t.test('kernel.repository_root is relative to svc.toml', async t => {
  const here = project(t, { 'conf/svc.toml': '[kernel]\nrepository_root = ".."\n' })
  t.equal(here.read({ cwd: here.path('conf') }).projectRoot, here.root)
  const set = ['kernel.repository_root=!unset']
  t.equal(here.read({ cwd: here.path('conf'), set }).projectRoot, here.path('conf'))
})

t.test('cosmiconfig never executes JavaScript', async t => {
  const trap = (name: string): string => `require('node:fs').writeFileSync(${JSON.stringify(name)}, 'executed')`
  const here = project(t)
  const executed = here.path('executed')
  const traps = [
    '.config/config.js',
    '.config/config.cjs',
    '.config.js',
    'svc.config.js',
    'svc.config.cjs',
    '.svcrc.js'
  ]
  for (const [index, name] of traps.entries()) {
    const folder = project(t, { [name]: trap(`${executed}${index}`), 'package.json': '{"cosmiconfig": {}}' })
    const before = process.cwd()
    process.chdir(folder.root)
    t.teardown(() => process.chdir(before))
    folder.read()
    t.notOk(existsSync(`${executed}${index}`), name)
    process.chdir(before)
  }
})

t.test('svc.toml cannot import other files', async t => {
  const here = project(t, { 'svc.toml': '"$import" = "other.toml"\n', 'other.toml': port(5) })
  const config = here.resolve([web])
  t.equal(config.plugins.get('web')?.values.port, 3847)
  t.match(config.problems, [{ code: 'CFG_KEY_UNKNOWN', file: here.path('svc.toml'), line: 1, column: 1 }])
})

t.test('a syntax error has its position and an excerpt with masked values', async t => {
  const here = project(t, { 'svc.toml': '[plugins.web]\ntoken = "hunter2hunter2\nport = 1\n' })
  const [problem, ...others] = here.read().problems
  t.strictSame(others, [])
  t.match(problem, { severity: 'error', code: 'CFG_TOML_SYNTAX', file: here.path('svc.toml'), line: 2 })
  t.match(problem?.message, /\n {2}2 \| token = "\*{14}\n/)
  t.notMatch(problem?.message, /hunter2/)
  t.match(formatProblem(problem!), `${here.path('svc.toml')}:2:`)
  t.equal(here.resolve([web]).plugins.get('web')?.values.port, 3847, 'an invalid file is ignored')
})

t.test('all invalid files are reported together', async t => {
  const here = project(t, { 'svc.toml': 'a = = 1', 'svc.local.toml': '[x', 'install/defaults.toml': '' })
  t.strictSame(
    here.read().problems.map(({ code, file, line }) => [code, file, line]),
    [
      ['CFG_TOML_SYNTAX', here.path('svc.toml'), 1],
      ['CFG_TOML_SYNTAX', here.path('svc.local.toml'), 1]
    ]
  )
})

t.test('an unreadable file is a problem, a missing file is not', async t => {
  const here = project(t)
  mkdirSync(here.path('svc.local.toml'))
  t.match(here.read().problems, [{ code: 'CFG_FILE_UNREADABLE', file: here.path('svc.local.toml') }])
})

t.test('the error for an unknown profile names the searched paths', async t => {
  const here = project(t, { 'svc.toml': '' })
  const [problem] = here.read({ profile: 'gpu' }).problems
  t.match(problem, { severity: 'error', code: 'CFG_PROFILE_UNKNOWN' })
  t.match(problem?.message, here.path('install/profiles/gpu.toml'))
  t.match(problem?.message, here.path('svc.gpu.toml'))
  for (const profile of ['../x', 'local', '']) {
    t.match(here.read({ profile }).problems, [{ code: 'CFG_PROFILE_UNKNOWN' }], JSON.stringify(profile))
  }
})

t.test('--set parses TOML values; anything else is a string', async t => {
  const here = project(t)
  const set = [
    'plugins.web.port = 81',
    'plugins.web.host=example.org',
    'plugins.web.tags=["a", "b"]',
    'plugins.web.strict=false',
    'plugins.web.weights={ a = 1 }',
    'plugins.web.weights."b.c"=2.5',
    'plugins.web.base=a=b [c',
    'plugins.web.tls.file=1\nport = 9'
  ]
  const config = here.resolve([web], { set })
  t.strictSame(config.problems, [])
  t.match(config.plugins.get('web')?.values, {
    port: 81,
    host: 'example.org',
    tags: ['a', 'b'],
    strict: false,
    weights: { a: 1, 'b.c': 2.5 },
    base: 'a=b [c',
    tls: { file: '1\nport = 9' }
  })
})

t.test('--set "!unset" removes the values of files', async t => {
  const here = project(t, { 'svc.toml': port(5) })
  const config = here.resolve([web], { set: ['plugins.web.port=!unset'] })
  t.equal(config.plugins.get('web')?.values.port, 3847)
  t.match(config.explain('plugins.web.port'), { value: 3847, layer: 'default', place: '--set plugins.web.port' })
})

t.test('an invalid override is rejected without quoting it', async t => {
  for (const set of ['hunter2', '=hunter2', 'a..b=hunter2', 'a b=hunter2', '\n=hunter2']) {
    const { problems, layers } = project(t).read({ set: [set] })
    t.match(problems, [{ severity: 'error', code: 'CFG_SET_INVALID', message: /--set option 1 / }], JSON.stringify(set))
    t.notMatch(JSON.stringify(problems), 'hunter2')
    t.strictSame(layers, [])
  }
})

t.test('`files` lists the files to watch', async t => {
  const here = project(t, { 'svc.toml': '' })
  t.strictSame(
    [...here.read({ profile: 'x' }).files].sort(),
    [
      here.path('home/.config/svc/svc.toml'),
      here.path('install/defaults.toml'),
      here.path('install/profiles/x.toml'),
      here.path('svc.local.toml'),
      here.path('svc.toml'),
      here.path('svc.x.toml')
    ].sort()
  )
})
