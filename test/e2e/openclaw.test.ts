import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { fakeGateway, sendJson } from '../../plugins/openclaw/test/fake-gateway.ts'
import { isAlive, kill, writeProgram } from '../../plugins/openclaw/test/sidecar-program.ts'
import { openReleases, releaseOf } from '../../plugins/updates/test/releases.ts'
import { freePort } from '../free-port.ts'
import { runSvc } from './run-svc.ts'
import { makeProject, SVC_BIN } from './served-project.ts'

t.test('a skill is installed, approved, run and served by commands', async t => {
  const skill = { name: 'weather', version: '1.2.0', description: 'Shows it', skill_md: '# Weather' }
  const fake = await fakeGateway(t, {
    http: { '/v1/skills': sendJson([skill]), '/v1/skills/weather': sendJson(skill) }
  })
  const folder = makeProject(t, {})
  const env = { SVC_EXTGW_URL: fake.url, SVC_EXTGW_WS_URL: fake.wsUrl, SVC_EXTGW_TOKEN: 'token-that-is-hidden' }
  const run = async (...words: string[]) => {
    const { stdout, stderr, code } = await runSvc(folder, ['openclaw', ...words, '--json'], { env })
    t.notMatch(stdout + stderr, /token-that-is-hidden/)
    return { code, output: JSON.parse(stdout || 'null'), error: stderr }
  }
  const { output: installed } = await run('import', 'weather', '--install')
  t.match(installed, { installed: true, approval: 'pending', text: '# Weather' })
  const refused = await run('run', 'weather')
  t.equal(refused.code, 5)
  t.match(refused.error, /SKG_NOT_APPROVED/)
  t.match((await run('approve', installed.approval_id)).output, { slug: 'weather', approval: 'approved' })
  t.match((await run('run', 'weather')).output, { output: '# Weather', isolation: 'none' })
  const child = spawn(process.execPath, [SVC_BIN, 'openclaw', 'serve', '--port', '0', '--json'], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '', SVC_EXTGW_TOKEN: 'token-that-is-hidden' },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  const response = await fetch(`${JSON.parse(line).url}/v1/skills`, {
    headers: { authorization: 'Bearer token-that-is-hidden' }
  })
  t.match(await response.json(), { skills: [{ name: 'weather', version: '1.2.0' }] })
  t.equal(await interrupted(child), 0)
})

t.test('a sidecar that svc starts outlives it, and is found and stopped by other commands', async t => {
  const folder = makeProject(t, {})
  const program = writeProgram(join(folder, 'home', '.vox', 'bin'))
  const port = await freePort()
  const env = {
    HOME: join(folder, 'home'),
    SVC_EXTGW_URL: 'http://127.0.0.1:1',
    SVC_EXTGW_WS_URL: `ws://127.0.0.1:${port}`,
    SVC_EXTGW_SIDECAR_START_MAX_ATTEMPTS: '10',
    SVC_EXTGW_SIDECAR_START_BACKOFF_MS: '100',
    SVC_EXTGW_SIDECAR_EXPECT_VERSION: '1.4',
    OPENCLAW_MODE: 'ok',
    OPENCLAW_PORT: String(port),
    OPENCLAW_LOG: join(folder, 'starts.jsonl')
  }
  const run = async (...words: string[]) => {
    const { stdout, stderr, code } = await runSvc(folder, ['openclaw', ...words, '--json'], { env })
    t.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const started = await run('doctor', '--auto-start')
  t.teardown(() => kill(started.sidecar_pid))
  t.match(started, {
    ws_ok: true,
    sidecar_auto_start_attempted: true,
    sidecar_started: true,
    sidecar_running_prior: false,
    sidecar_binary: program,
    sidecar_version: 'openclaw-gateway 1.4.2',
    sidecar_version_match: true,
    sidecar_spawn_error: null
  })
  const { pid } = JSON.parse(readFileSync(started.sidecar_state_file, 'utf8'))
  t.ok(isAlive(pid))
  t.match(await run('sidecar', 'start'), { started: false, running_prior: true, pid, healthy: true })
  t.same(await run('sidecar', 'stop'), { stopped: true, pid })
  t.notOk(isAlive(pid))
})

t.test('an upgrade installs the sidecar of a release, unless the sidecar is disabled', async t => {
  const targets = [
    'x86_64-unknown-linux-gnu',
    'aarch64-unknown-linux-gnu',
    'x86_64-apple-darwin',
    'aarch64-apple-darwin'
  ]
  const sidecars = Object.fromEntries(targets.map(each => [`openclaw-gateway-v9.2.0-${each}`, '#!/bin/sh\n']))
  const server = await openReleases(t, [releaseOf('9.2.0', sidecars)])
  const folder = makeProject(t, {})
  const install = async (name: string, variables: Record<string, string>): Promise<boolean> => {
    const env = { SVC_UPGRADE_GITHUB_API_URL: server.url, SVC_UPGRADE_REPO: 'acme/svc', ...variables }
    const home = join(folder, name)
    const words = ['upgrade', '--apply', '--allow-breaking', '--json', '--set', `plugins.updates.home=${home}`]
    const { code, stderr } = await runSvc(folder, words, { env })
    t.equal(code, 0, stderr)
    return existsSync(join(home, 'current', 'bin', 'openclaw-gateway'))
  }
  t.ok(await install('enabled', {}))
  t.notOk(await install('disabled', { SVC_EXTGW_SIDECAR_DISABLE: '1' }))
})

/** Sends Ctrl-C and returns the exit code. */
async function interrupted(child: ChildProcess): Promise<number | null> {
  const exit = once(child, 'exit')
  child.kill('SIGINT')
  return (await exit)[0]
}
