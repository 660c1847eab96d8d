import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { errorOf, type Ran, runSvc } from '../e2e/run-svc.ts'
import { makeProject } from '../e2e/served-project.ts'

/** Makes a project, and a systemctl that records its arguments. */
function makeMachine(t: Test): { readonly folder: string; run(...argv: string[]): Promise<Ran> } {
  const systemctl = '#!/bin/sh\necho "$@" >> "$SYSTEMCTL_LOG"\ncase "$*" in *show*) echo ActiveState=active;; esac\n'
  const folder = makeProject(t, { 'svc.toml': '', 'bin/systemctl': systemctl })
  chmodSync(join(folder, 'bin', 'systemctl'), 0o755)
  const env = {
    PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}`,
    XDG_CONFIG_HOME: join(folder, 'config'),
    SYSTEMCTL_LOG: join(folder, 'systemctl.log')
  }
  return { folder, run: (...argv) => runSvc(folder, ['service', ...argv], { env }) }
}

const linux = process.platform === 'linux' ? {} : { skip: 'systemd is only on Linux' }

t.test('svc service installs, shows and removes a service of a user', linux, async t => {
  const { folder, run } = makeMachine(t)
  t.match(errorOf(await run('status', '--user', '--json')), { code: 'SRV_NOT_INSTALLED' })
  const installed = await run('install', '--user', '--profile', 'model-server', '--memory-max', '2G', '--json')
  t.equal(installed.code, 0, installed.stderr)
  const { file } = JSON.parse(installed.stdout)
  t.equal(file, join(folder, 'config', 'systemd', 'user', 'svc.service'))
  t.match(readFileSync(file, 'utf8'), /\nExecStart=\S+node\S* \S+ serve --profile model-server\n/)
  const shown = await run('status', '--user', '--json')
  t.match({ ...JSON.parse(shown.stdout), code: shown.code }, { state: 'active', file, code: 0 })
  t.equal((await run('uninstall', '--user')).code, 0)
  t.notOk(existsSync(file))
  t.match(
    readFileSync(join(folder, 'systemctl.log'), 'utf8'),
    /--user restart svc\.service\n[\s\S]*disable --now svc\.service/
  )
})

const analyzed =
  spawnSync('systemd-analyze', ['--version']).status === 0 ? {} : { skip: 'systemd-analyze is not installed' }

t.test('systemd accepts the unit that a dry run prints', analyzed, async t => {
  const { folder, run } = makeMachine(t)
  const { code, stdout, stderr } = await run('install', '--run-as', 'root', '--credential', 'a:/etc/a', '--dry-run')
  t.equal(code, 0, stderr)
  const file = join(folder, 'svc.service')
  writeFileSync(file, stdout)
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  t.equal(verified.status, 0, verified.stderr)
  t.notMatch(verified.stderr, 'svc.service:', 'no line of the unit is ignored')
})

t.test('a wrong option changes nothing and is explained', linux, async t => {
  const { folder, run } = makeMachine(t)
  const ran = await run('install', '--user', '--credential', 'http_token', '--json')
  t.match(errorOf(ran), { code: 'SRV_OPTIONS', hint: /NAME:FILE/ })
  t.notOk(existsSync(join(folder, 'systemctl.log')))
})
