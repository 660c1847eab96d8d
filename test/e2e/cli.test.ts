import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorOf, type Ran, runSvc } from './run-svc.ts'
import { makeProject, pluginPackage, SVC_BIN } from './served-project.ts'

/** Source of a plugin whose module body writes a file, which shows that it was loaded. */
const TRAP = `
import { writeFileSync } from 'node:fs'
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

writeFileSync(process.env.TRAP_MARK ?? '/dev/null', 'loaded')

const spring = defineOperation({
  id: 'trap.spring',
  summary: 'Spring the trap',
  input: t.object({
    times: t.integer({ default: 1, minimum: 1, maximum: 3, description: 'How often' }),
    story: t.optional(t.boolean({ description: 'Stream the text in pieces' }))
  }),
  output: t.object({ text: t.string() }),
  events: t.string(),
  errors: { TRAP_STUCK: { status: 409, message: 'It is stuck.' } },
  effect: 'read',
  expose: { rpc: true, cli: { command: 'trap spring', args: ['times'], view: { text: 'text' } } }
})
const stuck = defineOperation({
  id: 'trap.stuck', summary: 'Fail', input: t.object({}), output: t.object({}),
  errors: { TRAP_STUCK: { status: 409, message: 'It is stuck.' } }, expose: { cli: { command: 'trap stuck' } }
})

export default definePlugin({
  name: 'trap',
  summary: 'A trap',
  config: t.object({ word: t.string({ default: 'snap', description: 'What it says', 'x-reload': 'live' }) }),
  operations: [spring, stuck],
  commands: [{ command: 'trap echo', summary: 'Repeat standard input', input: t.object({}) }],
  activate(ctx) {
    ctx.implement(spring, ({ times, story }, call) => {
      const words = Array(times).fill(ctx.config.word)
      if (story) for (const [index, word] of words.entries()) call.emit(index === 0 ? word : ' ' + word)
      call.progress(times, times, 'sprung')
      return { text: words.join(' ') }
    })
    ctx.implement(stuck, (_input, call) => call.fail('TRAP_STUCK'))
    ctx.command('trap echo', async (_input, io) => {
      for await (const chunk of io.stdin) io.stdout.write(String(chunk))
      return 9
    })
  }
})
`

const folder = makeProject(t, {
  'plugins/trap/package.json': pluginPackage('trap'),
  'plugins/trap/src/plugin.ts': TRAP
})
const mark = join(folder, 'mark')
const svc = (...argv: string[]): Promise<Ran> => runSvc(folder, argv, { env: { TRAP_MARK: mark } })

t.before(async () => {
  await svc('plugins', 'build', 'plugins/trap')
  rmSync(mark)
})

t.test('help, completion, list and explain commands load no plugin code', async t => {
  const questions: [argv: string[], told: RegExp][] = [
    [['--help'], /svc trap +A trap/],
    [['trap', 'spring', '--help'], /--story +Stream the text in pieces/],
    [['plugins', 'list', '--help'], /List plugins/],
    [['call', 'trap.spring', '--help'], /TRAP_STUCK +409/],
    [['__complete', '2', 'svc', 'trap', ''], /^spring\tSpring the trap$/m],
    [['plugins', 'list'], /^trap +1\.0\.0 +resolved/m],
    [['plugins', 'effects', 'trap'], /trap\.spring/],
    [['config', 'explain', 'plugins.trap.word'], /^plugins\.trap\.word = "snap"$/m]
  ]
  for (const [argv, told] of questions) {
    const { code, stdout, stderr } = await svc(...argv)
    t.match({ code, stderr }, { code: 0, stderr: '' }, argv.join(' '))
    t.match(stdout, told)
    t.notOk(existsSync(mark), `${argv.join(' ')} loaded the plugin`)
  }
  await svc('trap', 'spring')
  t.ok(existsSync(mark), 'running a command of the plugin loads it')
})

t.test('commands of a plugin with a syntax error stay in help with a note, and fail with the location', async t => {
  const plugin = (body: string): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const hello = defineOperation({
  id: 'greeter.hello', summary: 'Greet', input: t.object({}), output: t.object({}), effect: 'read',
  expose: { cli: { command: 'greeter hello' } }
})
export default definePlugin({
  name: 'greeter', summary: 'Greets', operations: [hello], activate(ctx) { ${body} }
})
`
  const project = makeProject(t, {
    'plugins/greeter/package.json': pluginPackage('greeter'),
    'plugins/greeter/src/plugin.ts': plugin('ctx.implement(hello, () => ({}))')
  })
  const run = (...argv: string[]): Promise<Ran> => runSvc(project, argv)
  t.match(await run('greeter', '--help'), { code: 0, stdout: /svc greeter hello +Greet$/m })

  writeFileSync(join(project, 'plugins/greeter/src/plugin.ts'), plugin('const = 1'))
  t.match(await run('--help'), { code: 0, stdout: /svc greeter +Greets/ })
  t.match(await run('greeter', '--help'), {
    code: 0,
    stdout: /svc greeter hello +Greet \(the plugin greeter is broken/
  })
  t.match(await run('call', 'greeter.hello', '--help'), { code: 0, stdout: /Greet/ })
  for (const argv of [
    ['greeter', 'hello'],
    ['call', 'greeter.hello']
  ]) {
    const ran = await run(...argv)
    t.match(ran, { code: 7, stderr: /OPR_UNAVAILABLE/ }, argv.join(' '))
    t.match(ran.stderr, /plugins\/greeter\/src\/plugin\.ts:\d+:\d+/, 'the error names file, line and column')
  }
})

t.test('help loads no modules that only running commands need', t => {
  const packages = /node_modules\/(ajv|awilix|pino|pino-pretty|esbuild|chokidar|tapable|toml-eslint-parser|yargs)\//
  const vendored = /dist\/vendor\/(ajv|tapable)/
  const loader = `
    import { writeSync } from 'node:fs'
    export const load = (url, context, next) => (writeSync(2, url + '\\n'), next(url, context))
  `
  const program = `
    const { createRequire, register } = await import('node:module')
    register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(loader))})
    process.argv = [process.execPath, 'svc', '--help']
    process.stdout.write = () => true
    await import(${JSON.stringify(SVC_BIN)})
    console.error(Object.keys(createRequire(import.meta.url).cache).join('\\n'))
  `
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    encoding: 'utf8'
  })
  const loaded = stderr.split('\n')
  t.ok(loaded.some(file => file.endsWith('/bin/program.cjs')))
  t.same(
    loaded.filter(file => packages.test(file) || vendored.test(file)),
    []
  )
  t.end()
})

t.test('an operation can be run as a command or by id, with streamed output', async t => {
  t.match(await svc('trap', 'spring', '2'), { code: 0, stdout: 'snap snap\n', stderr: 'sprung 2/2\n' })
  t.match(
    await svc('trap', 'spring', '2', '--story'),
    { code: 0, stdout: 'snap snap\n' },
    'streamed text is not printed again'
  )
  t.match(await svc('call', 'trap.spring', '{"times":3}'), { code: 0, stdout: 'snap snap snap\n' })
  t.match(await runSvc(folder, ['call', 'trap.spring', '-'], { stdin: '{"times": 2}' }), {
    code: 0,
    stdout: 'snap snap\n'
  })
  t.match(await svc('trap', 'spring', '--set', 'plugins.trap.word=tock'), { code: 0, stdout: 'tock\n' })
})

t.test('with --json standard output is one document, and events go to standard error', async t => {
  const { code, stdout, stderr } = await svc('trap', 'spring', '2', '--story', '--json')
  t.equal(code, 0)
  t.same(JSON.parse(stdout), { text: 'snap snap' })
  t.same(
    stderr
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
    [{ event: 'snap' }, { event: ' snap' }, { progress: { done: 2, total: 2, message: 'sprung' } }]
  )
  for (const argv of [
    ['plugins', 'list'],
    ['plugins', 'graph'],
    ['plugins', 'why', 'trap'],
    ['doctor'],
    ['config', 'list'],
    ['config', 'validate'],
    ['config', 'schema']
  ]) {
    const ran = await svc(...argv, '--json')
    t.doesNotThrow(() => JSON.parse(ran.stdout), argv.join(' '))
  }
})

t.test('a plugin command reads standard input, writes standard output and chooses its exit code', async t => {
  t.match(await runSvc(folder, ['trap', 'echo'], { stdin: 'to and fro' }), { code: 9, stdout: 'to and fro' })
})

const failures: [argv: string[], exit: number, code: string, message: RegExp, hint?: RegExp][] = [
  [['plugns'], 2, 'CLI_COMMAND_UNKNOWN', /svc has no command "plugns"/, /did you mean svc plugins\?/],
  [['plugins', 'list', '--jso'], 2, 'CLI_ARGUMENT_INVALID', /has no flag --jso/, /did you mean --json\?/],
  [['plugins', 'list', '--project', '/no/such/folder'], 2, 'CLI_ARGUMENT_INVALID', /names \/no\/such\/folder/],
  [['plugins'], 2, 'CLI_COMMAND_MISSING', /svc plugins needs a command/, /list/],
  [
    ['trap', 'spring', '4'],
    2,
    'OPR_INPUT_INVALID',
    /^svc trap spring: <times> must be <= 3$/,
    /^see svc trap spring --help$/
  ],
  [['call', 'trap.spring', '{times'], 2, 'CLI_INPUT_NOT_JSON', /not JSON/, /quote it/],
  [['call', 'trap.sprong'], 4, 'OPR_UNKNOWN', /trap\.sprong/, /did you mean trap\.spring\?/],
  [['plugins', 'why', 'trapp'], 4, 'KRN_PLUGIN_UNKNOWN', /trapp/, /did you mean trap\?/],
  [
    ['config', 'explain', 'plugins.trap.wrod'],
    4,
    'CFG_SETTING_UNKNOWN',
    /wrod/,
    /did you mean "plugins\.trap\.word"\?/
  ],
  [['serve', '--only', 'trap,htpp'], 4, 'KRN_PLUGIN_UNKNOWN', /--only names htpp/, /did you mean http\?/],
  [['trap', 'stuck'], 6, 'TRAP_STUCK', /It is stuck/],
  [['rpc', 'orch.ping'], 7, 'CLI_NO_DAEMON', /no daemon runs/, /svc daemon start/],
  [['plugins', 'top'], 7, 'CLI_NO_DAEMON', /no daemon serves this project/],
  [['plugins', 'reload', 'trap'], 7, 'CLI_NO_DAEMON', /no daemon serves this project/],
  [['trap', 'spring', '--profile', 'nope'], 3, 'CFG_PROFILE_UNKNOWN', /there is no profile "nope"/]
]

for (const [argv, exit, code, message, hint] of failures) {
  t.test(`svc ${argv.join(' ')} fails with ${exit}`, async t => {
    const ran = await svc(...argv, '--json')
    t.equal(ran.code, exit)
    t.equal(ran.stdout, '', 'standard output is empty')
    const error = errorOf(ran)
    t.match(error, { code, message })
    if (hint !== undefined) t.match(error.hint, hint)
  })
}

t.test('without --json errors are printed as text', async t => {
  const { code, stderr } = await svc('plugins', 'lisst')
  t.equal(code, 2)
  t.equal(
    stderr,
    'error: svc plugins has no command "lisst"\n  code: CLI_COMMAND_UNKNOWN\n  hint: did you mean svc plugins list?\n'
  )
})

t.test('svc without a command prints help to standard error', async t => {
  t.match(await svc(), { code: 2, stdout: '', stderr: /svc <command>[\s\S]*svc plugins/ })
})

t.test('a closed output pipe is not an error', t => {
  const script = `set -o pipefail; "$0" "$1" config schema | head -c 10; echo " \${PIPESTATUS[0]}"`
  const stdout = execFileSync('bash', ['-c', script, process.execPath, SVC_BIN], { cwd: folder, encoding: 'utf8' })
  t.match(stdout, / 0\n$/)
  t.end()
})

t.test('plugins enable and disable without a daemon write svc.toml and report it', async t => {
  const project = makeProject(t, { 'svc.toml': '# mine\n[plugins.http]\nport = 8080\n' })
  const dry = await runSvc(project, ['plugins', 'disable', 'mcp', '--dry-run'])
  t.match(dry.stdout, 'plugins.mcp.enabled = false would be written to svc.toml')
  t.match(await runSvc(project, ['plugins', 'disable', 'mcp']), { code: 0, stdout: /written to svc\.toml\nno daemon/ })
  t.match((await runSvc(project, ['plugins', 'list'])).stdout, /^mcp +\S+ +disabled/m)
  t.match(errorOf(await runSvc(project, ['mcp', '--json'])), {
    message: /belongs to the plugin mcp, which is disabled/
  })
  await runSvc(project, ['plugins', 'enable', 'mcp'])
  t.match((await runSvc(project, ['plugins', 'list'])).stdout, /^mcp +\S+ +resolved/m)
})

t.test('with an invalid configuration only commands that inspect it run', async t => {
  const project = makeProject(t, { 'svc.toml': '[kernel]\nwach = true\n\n[plugins.http]\nprot = 1\n' })
  const validation = await runSvc(project, ['config', 'validate'])
  t.equal(validation.code, 3)
  t.match(validation.stdout, /svc\.toml:2:1 {2}error CFG_KEY_UNKNOWN[\s\S]*did you mean "watch"\?/)
  t.match(validation.stdout, /svc\.toml:5:1 {2}error CFG_KEY_UNKNOWN[\s\S]*did you mean "port"\?/)
  const list = await runSvc(project, ['plugins', 'list'])
  t.match(list.stdout, /^http +\S+ +invalid .*prot is not a setting/m)
  t.match(list.stdout, /the configuration has errors/)
  t.match(await runSvc(project, ['doctor']), { code: 1, stdout: /^error +configuration/m })
  t.match(await runSvc(project, ['--help']), { code: 0, stderr: '' })
  t.match(await runSvc(project, ['serve']), {
    code: 3,
    stderr: /svc\.toml:2:1 {2}kernel\.wach is not a setting\n {2}code: CFG_KEY_UNKNOWN\n {2}hint: did you mean "watch"/
  })
})

t.test('shell completion includes commands, flags and settings of plugins', async t => {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(SVC_BIN, join(bin, 'svc'))
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, NODE_OPTIONS: '' }

  t.test('bash', async t => {
    const script = `
      source <(svc completion bash)
      offer() { COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=(); _svc_complete; echo "\${COMPREPLY[*]}"; }
      complete -p svc
      offer svc trap
      offer svc trap s
      offer svc trap spring --st
      offer svc config explain plugins.trap.
      offer svc plugins why tra`
    const lines = execFileSync('bash', ['-c', script], { cwd: folder, env, encoding: 'utf8' }).trim().split('\n')
    t.match(lines[0], /-F _svc_complete svc/)
    t.same(lines.slice(1), ['trap', 'spring stuck', '--story', 'plugins.trap.word', 'trap'])
  })

  t.test('zsh', { skip: spawnSync('zsh', ['--version']).status === 0 ? false : 'zsh is not installed' }, async t => {
    const script = `
      autoload -Uz compinit; compinit -D -u
      source <(svc completion zsh)
      _describe() { echo "\${(P)2}" }
      _files() { echo files }
      words=(svc trap sp); CURRENT=3; _svc
      words=(svc call trap.spring ''); CURRENT=4; _svc
      echo "$_comps[svc]"`
    const lines = execFileSync('zsh', ['-f', '-c', script], { cwd: folder, env, encoding: 'utf8' }).trim().split('\n')
    t.same(lines, ['spring:Spring the trap', 'files', '_svc'])
  })

  t.test('fish', { skip: spawnSync('fish', ['--version']).status === 0 ? false : 'fish is not installed' }, async t => {
    const script = `
      svc completion fish | source
      complete --do-complete 'svc trap'
      complete --do-complete 'svc trap sp'
      complete --do-complete 'svc plugins why tra'`
    const options = { cwd: folder, env: { ...env, HOME: folder }, encoding: 'utf8' } as const
    const lines = execFileSync('fish', ['--no-config', '--command', script], options).trim().split('\n')
    t.match(lines[0], /^trap\t/)
    t.equal(lines[1], 'spring\tSpring the trap')
    t.match(lines[2], /^trap\t/)
  })

  t.test('the PowerShell script passes the index of the word to svc', async t => {
    const { stdout } = await runSvc(folder, ['completion', 'powershell'])
    t.match(stdout, /Register-ArgumentCompleter -Native -CommandName svc/)
    t.match(stdout, /__complete \$index @words/)
  })
})

t.test('a plugin that cannot be compiled is listed with the location, and other plugins work', async t => {
  const project = makeProject(t, {
    'plugins/broken/package.json': pluginPackage('broken'),
    'plugins/broken/src/plugin.ts': 'export default {\n  oops =\n'
  })
  t.match((await runSvc(project, ['plugins', 'list'])).stdout, /^broken +1\.0\.0 +invalid .*plugin\.ts:\d+:\d+/m)
  writeFileSync(join(project, 'plugins', 'broken', 'package.json'), '{}')
  t.match((await runSvc(project, ['doctor'])).stdout, /^ok +plugin http/m)
})
