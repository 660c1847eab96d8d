import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { serveRegistry } from './local-registry.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const PLUGINS = 'cli,daemon,dashboard,http,inference-onnx,model-server,speech'
const CONFIG = `
[plugins.http]
port = 0
[plugins.daemon]
socket = "127.0.0.1:0"
[plugins.model-server]
port = 0
`
const run = promisify(execFile)

/** The variables of a machine that knows nothing of this repository. */
function plainEnvironment(home: string): NodeJS.ProcessEnv {
  const { PATH } = process.env
  return { PATH, HOME: home, NO_COLOR: '1' }
}

/** Creates folders outside of the repository, into which npm would install otherwise. */
function makeFolder(t: Test): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-release-test-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['home', 'out', 'project']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'project', 'svc.toml'), CONFIG)
  // The registry of the test only has the versions that this repository installs.
  const { overrides } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'project', 'package.json'), JSON.stringify({ private: true, overrides }))
  return folder
}

function release(out: string, ...argv: string[]) {
  const program = ['--import', 'tsx', '--conditions=svc-source', 'tools/release.ts', '--out', out, ...argv]
  return run(process.execPath, program, { cwd: ROOT, env: { ...process.env, NODE_OPTIONS: '' } })
}

t.test('a release is complete, and its packages serve from an empty folder without any variable', async t => {
  const folder = makeFolder(t)
  const [out, project] = [join(folder, 'out'), join(folder, 'project')]
  const env = plainEnvironment(join(folder, 'home'))
  const platform = `${process.platform}-${process.arch}`
  await release(out, '--no-audit', '--plugins', PLUGINS, '--runtimes', platform)
  t.match(await release(out, '--check'), { stdout: /is complete/ })

  const registry = await serveRegistry(t, join(out, 'npm'))
  const install = [
    'install',
    '@svc/svc',
    '--prefix',
    project,
    '--registry',
    registry,
    '--no-audit',
    '--no-fund',
    '--no-update-notifier'
  ]
  await run('npm', [...install, '--cache', join(folder, 'cache')], { cwd: project, env })
  const installed = readdirSync(join(project, 'node_modules', '@svc'))
  t.ok(installed.includes(`onnxruntime-${platform}`), 'ONNX Runtime of this platform is installed')
  t.notOk(existsSync(join(project, 'node_modules', 'onnxruntime-node')), 'and no other')
  for (const name of installed) {
    const files = readdirSync(join(project, 'node_modules', '@svc', name))
    t.ok(files.includes('LICENSE') && files.includes('README.md'), name)
  }
  const notices = readFileSync(join(project, 'node_modules', '@svc', 'kernel', 'THIRD-PARTY.md'), 'utf8')
  t.match(notices, /## yargs \d[\s\S]*Permission is hereby granted/, 'the license of each bundled library is there')

  // The file itself: the kernel links a program of the same name.
  const program = join(project, 'node_modules', '@svc', 'svc', 'bin', 'svc.cjs')
  const { stdout } = await run(program, ['plugins', 'list', '--json'], { cwd: project, env })
  const { plugins } = JSON.parse(stdout) as { plugins: { name: string; state: string; why: string | null }[] }
  t.same(plugins.map(({ name }) => name).sort(), PLUGINS.split(','))
  t.same(
    plugins.filter(({ state }) => state === 'invalid' || state === 'failed'),
    []
  )
  const child = spawn(program, ['up', '--json', '--no-open'], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const log: string[] = []
  const lines = createInterface({ input: child.stderr }).on('line', line => log.push(line))
  const logged = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(log.join('\n'))
      if (found !== null) return found
      await once(lines, 'line')
    }
  }
  const printed = Promise.race([
    once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>,
    ended.then(() => Promise.reject(new Error(`svc up ended:\n${log.join('\n')}`)))
  ])
  const { url } = JSON.parse((await printed)[0])
  const page = await fetch(`${new URL(url).origin}/`)
  t.match([page.status, await page.text()], [200, /<script/])
  await logged(/'vox-tiny' is ready/)
  const [, models] = await logged(/model-server listens on (http:[^" ]+)/)
  const answer = await fetch(`${models}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ temperature: 0, messages: [{ role: 'user', content: 'count the books' }] })
  })
  t.match([answer.status, await answer.text()], [200, /count_books/])
  child.kill('SIGTERM')
  t.same(await ended, [0, null])

  const archive = join(out, 'CHANGELOG.md')
  writeFileSync(archive, `${readFileSync(archive, 'utf8')}changed`)
  writeFileSync(join(out, 'more.txt'), '')
  const refused = await release(out, '--check').catch((error: { code: number; stderr: string }) => error)
  t.match(refused, { code: 1, stderr: /CHANGELOG\.md: its SHA-256[\s\S]*more\.txt: not listed/ })
})
