import { openTestProject } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { packageJson, pluginSource } from '../fixtures/loader/plugin-folder.ts'

const SOURCE = `
import { definePlugin, t } from '@svc/plugin-sdk'
export default definePlugin({
  name: 'good',
  config: t.object({ n: t.integer({ default: 1, minimum: 1, 'x-env': 'GOOD_N', description: 'A number' }) }),
  activate() {}
})
`
/** Selects the plugin of a test, and those that commands need in a server. */
const ONLY = ['--only', 'good,http,daemon,cli']
const FILES = { 'plugins/good/package.json': packageJson('good'), 'plugins/good/src/plugin.ts': SOURCE }

function open(t: Test, options: Parameters<typeof openTestProject>[0] = { files: FILES }) {
  const project = openTestProject(options)
  t.teardown(() => project.close())
  return project
}

t.test('config explain shows the value in force, and a refused one with its reason', async t => {
  const project = open(t)
  const served = await project.serve(['--watch', ...ONLY])
  project.write({ 'svc.toml': '[plugins.good]\nn = 5\n' })
  await project.until(() => served.lines.some(line => line.includes('"msg":"generation 2"')))
  project.write({ 'svc.toml': '[plugins.good]\nn = 0\n' })
  await project.until(() => served.lines.some(line => line.includes('the previous ones stay in force')))
  const running = await project.svc(['config', 'explain', 'plugins.good.n'])
  t.match(running.stdout, /^plugins\.good\.n = 5\n/)
  t.match(
    running.stdout,
    '  rejected  0 (project, svc.toml:2:1): plugins.good.n must be an integer (minimum 1), got 0\n'
  )
  t.match((await project.svc(['config', 'list', 'plugins.good.n'])).stdout, /plugins\.good\.n +5 /)
  t.equal(await served.stop(), 0)
  const stopped = await project.svc(['config', 'explain', 'plugins.good.n', '--json'])
  t.match(JSON.parse(stopped.stdout), {
    value: null,
    refused: { value: 0, layer: 'project', place: 'svc.toml:2:1', message: /minimum 1/ },
    text: /^plugins\.good\.n: no value is in force\n {2}overrides 1 \(default\)\n {2}rejected {2}0 /
  })
})

t.test('a refused setting of the kernel is explained while the server keeps the previous one', async t => {
  const project = open(t)
  const served = await project.serve(['--watch', ...ONLY])
  project.write({ 'svc.toml': '[kernel]\nlog_level = "loud"\n' })
  await project.until(() => served.lines.some(line => line.includes('change refused')))
  const { stdout } = await project.svc(['config', 'explain', 'kernel.log_level'])
  t.match(stdout, /^kernel\.log_level = "info"\n[\s\S]* {2}rejected {2}"loud" \(project, svc\.toml:2:1\): /)
  t.equal(await served.stop(), 0)
})

t.test("an invalid variable in the caller's environment counts although a server answers", async t => {
  const project = open(t)
  const served = await project.serve(ONLY)
  const check = async (env: Readonly<Record<string, string>>): Promise<void> => {
    const there = open(t, { files: {}, env })
    const svc = (...argv: string[]) => there.svc([...argv, '--project', project.root])
    const validated = await svc('config', 'validate')
    t.equal(validated.code, 3, validated.stdout)
    t.match(validated.stdout, /^error CFG_ENV_INVALID {2}environment variable GOOD_N must be an integer/)
    t.notMatch(validated.stdout, /previous value|warning/)
    t.match((await svc('config', 'explain', 'plugins.good.n')).stdout, / {2}rejected {2}.*environment variable GOOD_N/)
    t.match((await svc('plugins', 'why', 'good')).stdout, /good is active\n.*environment variable GOOD_N must be/)
    t.notMatch((await svc('plugins', 'why', 'http')).stdout, /GOOD_N/)
  }
  await check({ GOOD_N: 'foo' })
  t.equal((await project.svc(['config', 'validate'])).code, 0, 'with a valid environment')
  t.notMatch((await project.svc(['config', 'validate', '--help'])).stdout, /caller-problems/)
  t.equal(await served.stop(), 0)
})

t.test('doctor shows names that two packages have', async t => {
  const project = open(t, {
    files: {
      ...FILES,
      'plugins/copy/package.json': packageJson('copy'),
      'plugins/copy/src/plugin.ts': pluginSource('good')
    }
  })
  const { stdout } = await project.svc(['plugins', 'doctor'])
  t.match(stdout, /^warning +plugin good +two plugins are named good: .* remove or rename one of them$/m)
  const all = await project.svc(['doctor'])
  t.equal(all.stdout.match(/two plugins are named good/g)?.length, 1, all.stdout)
})

t.test('an unknown profile lists the profiles, and a path is no profile', async t => {
  const project = open(t, { files: { 'svc.dev.toml': '', 'svc.local.toml': '' } })
  const unknown = await project.svc(['serve', '--profile', 'nope'])
  t.equal(unknown.code, 3)
  t.match(unknown.stderr, /error: there is no profile "nope"; searched .*\n {2}code: CFG_PROFILE_UNKNOWN\n/)
  t.match(unknown.stderr, '  hint: use one of dev, model-server\n')
  const list = await project.svc(['plugins', 'list', '--profile', 'nope'])
  t.match(list, { code: 3, stderr: /CFG_PROFILE_UNKNOWN/ }, 'every command reports it')
  t.equal((await project.svc(['plugins', 'list', '--profile', 'nope', '--help'])).code, 0, 'help is always available')
  const path = await project.svc(['serve', '--profile', '../x'])
  t.equal(path.code, 3)
  t.match(path.stderr, 'error: "../x" is not a profile name; use letters, digits, _ and -\n')
})

t.test('plugins new says the rule of names and what to do about a taken one', async t => {
  const project = open(t, { files: {} })
  const bad = await project.svc(['plugins', 'new', 'Bad Name'])
  t.equal(bad.code, 2)
  t.match(
    bad.stderr,
    /error: svc plugins new: <name> has the wrong form: .*lower-case letters, digits and hyphens.*; for example weather\n/
  )
  t.match(bad.stderr, 'hint: see svc plugins new --help\n')
  t.notMatch(bad.stderr, /kernel\.plugins|\^\[a-z\]/)
  const taken = await project.svc(['plugins', 'new', 'http'])
  t.equal(taken.code, 6)
  t.match(taken.stderr, 'hint: choose another name, for example my-http\n')
})
