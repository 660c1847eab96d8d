import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { childEnvironment, locateProgram, Sidecar, type SidecarState, sidecarFolders, stateOf, writeState } from '#root'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { isAlive, kill, openSidecar, type SidecarBench, writeProgram } from './sidecar-program.ts'

const read = (path: string): SidecarState => JSON.parse(readFileSync(path, 'utf8'))

t.test('a started sidecar is recorded, has no variables of svc, and is reused by the next start', async t => {
  const { sidecar, root, program, starts } = await openSidecar(t, 'slow')
  const started = await sidecar.start()
  t.match(started, { started: true, running_prior: false, reachable: true, binary: program })
  const [process] = starts()
  t.equal(process?.pid, started.pid)
  t.equal(process?.cwd, root)
  t.notOk(process?.env.includes('SVC_EXTGW_TOKEN'))
  t.match(read(sidecar.statePath), {
    process_name: 'openclaw-gateway',
    pid: started.pid as number,
    binary_path: program,
    started_unix_ms: Number
  })
  t.match(await sidecar.status(), { running: true, pid: started.pid, binary: program, disabled: false })
  t.match(await sidecar.start(), {
    started: false,
    running_prior: true,
    reachable: true,
    pid: started.pid,
    attempts: 1
  })
  t.equal(starts().length, 1)
  t.same(await sidecar.stop(), { stopped: true, pid: started.pid })
  t.notOk(isAlive(started.pid as number))
  t.notOk(existsSync(sidecar.statePath))
  t.same(await sidecar.stop(), { stopped: false, pid: null })
  t.same(
    readdirSync(dirname(sidecar.statePath)).filter(name => name.endsWith('.lock')),
    [],
    'no lock is left'
  )
})

t.test('concurrent starts of several svc start one process', async t => {
  const { sidecar, options, starts } = await openSidecar(t)
  const all = await Promise.all([sidecar, new Sidecar(options), new Sidecar(options)].map(each => each.start()))
  t.equal(starts().length, 1)
  t.equal(all.filter(each => each.started).length, 1)
  t.equal(new Set(all.map(each => each.pid)).size, 1)
})

t.test('a sidecar that ends at once is an error with its exit code, and leaves no state', async t => {
  const { sidecar } = await openSidecar(t, 'exit')
  await t.rejects(sidecar.start(), { code: 'SKG_SIDECAR_FAILED', message: /openclaw-gateway ended with code 3/ })
  t.notOk(existsSync(sidecar.statePath))
  t.match(await sidecar.status(), { running: false, pid: null })
})

t.test('a sidecar that never accepts a connection is probed as often as configured, and stays', async t => {
  const { sidecar } = await openSidecar(t, 'deaf', { maxAttempts: 2, backoffMs: 100 })
  const { pid, ...start } = await sidecar.start()
  t.match(start, { started: true, reachable: false, attempts: 2 })
  t.ok(isAlive(pid as number))
  t.match(await sidecar.status(), { running: true, pid })
})

t.test('a sidecar that ignores SIGTERM is killed', async t => {
  const { sidecar } = await openSidecar(t, 'stubborn')
  const { pid } = await sidecar.start()
  t.same(await sidecar.stop(), { stopped: true, pid })
  t.notOk(isAlive(pid as number))
})

t.test('a killed sidecar is replaced by the next start', async t => {
  const { sidecar, starts } = await openSidecar(t)
  const { pid } = await sidecar.start()
  kill(pid as number)
  while (isAlive(pid as number)) await new Promise(resolve => setTimeout(resolve, 5))
  t.match(await sidecar.status(), { running: false, pid: null })
  const again = await sidecar.start()
  t.match(again, { started: true, running_prior: false, reachable: true })
  t.not(again.pid, pid)
  t.equal(starts().length, 2)
})

/** Runs a start in another svc, which is killed during the given probe. */
async function killDuringProbe(t: Test, { options }: SidecarBench, hangs: number): Promise<void> {
  const file = fileURLToPath(new URL('sidecar-child.ts', import.meta.url))
  const argument = JSON.stringify({ ...options, hangs })
  const child = spawn(process.execPath, [...CHILD_ARGUMENTS, file, argument], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  for await (const line of createInterface(child.stdout)) if (line === `probe ${hangs}`) break
  child.kill('SIGKILL')
  await once(child, 'exit')
}

t.test('an svc that is killed before it starts the process leaves a lock, which the next start takes over', async t => {
  const bench = await openSidecar(t)
  await killDuringProbe(t, bench, 1)
  t.equal(bench.starts().length, 0)
  t.match(await bench.sidecar.start(), { started: true, reachable: true })
})

t.test('the sidecar of an svc that was killed after its start is reused', async t => {
  const bench = await openSidecar(t)
  await killDuringProbe(t, bench, 2)
  const { pid } = read(bench.sidecar.statePath)
  t.ok(isAlive(pid), 'the sidecar outlives svc')
  t.match(await bench.sidecar.start(), { started: false, running_prior: true, pid, reachable: true })
})

t.test('a gateway without a state file is not started twice, and not stopped', async t => {
  const { sidecar, starts } = await openSidecar(t)
  const { pid } = await sidecar.start()
  // As after a kill between the start of the process and its record.
  writeFileSync(sidecar.statePath, '')
  t.match(await sidecar.start(), { started: false, running_prior: true, reachable: true, pid: null })
  t.equal(starts().length, 1)
  t.same(await sidecar.stop(), { stopped: false, pid: null })
  t.ok(isAlive(pid as number))
})

t.test('a state file that names another process is stale: that process is neither reused nor signalled', async t => {
  const { sidecar, program } = await openSidecar(t)
  const other = spawn('sleep', ['600'], { stdio: 'ignore', detached: true })
  t.teardown(() => other.kill('SIGKILL'))
  const pid = other.pid as number
  const foreign = stateOf(pid, program)
  const states: Record<string, object> = {
    'another start': { ...foreign, start: `${foreign.start}1` },
    'no start': { process_name: 'openclaw-gateway', pid, started_unix_ms: 1, binary_path: program },
    'before a reboot': { ...foreign, start: 'other-boot pid:[1] 1' }
  }
  for (const [name, state] of Object.entries(states)) {
    writeState(sidecar.statePath, state as SidecarState)
    t.match(await sidecar.status(), { running: false, pid: null }, name)
    t.same(await sidecar.stop(), { stopped: false, pid: null }, name)
    t.ok(isAlive(pid), `${name}: the process still runs`)
    writeState(sidecar.statePath, state as SidecarState)
    const started = await sidecar.start()
    t.match(started, { started: true }, name)
    t.not(started.pid, pid)
    await sidecar.stop()
  }
})

t.test('a state file without a start, as other programs write it, is reused', async t => {
  const { sidecar, starts } = await openSidecar(t)
  const { pid } = await sidecar.start()
  const { process_name, started_unix_ms, binary_path } = read(sidecar.statePath)
  // The command line of a script names its interpreter and module, which is next to the program.
  const module = join(dirname(binary_path), 'gateway.mjs')
  if (process.platform === 'linux') t.ok(readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(module))
  writeFileSync(sidecar.statePath, JSON.stringify({ process_name, pid, started_unix_ms, binary_path }))
  t.match(await sidecar.start(), { started: false, running_prior: true, reachable: true })
  t.equal(starts().length, 1)
})

t.test('a damaged state file counts as absent', async t => {
  const { sidecar } = await openSidecar(t)
  mkdirSync(dirname(sidecar.statePath), { recursive: true })
  const valid = { process_name: 'openclaw-gateway', pid: process.pid, started_unix_ms: 1, binary_path: '/bin/sleep' }
  for (const text of ['', '{', 'null', '[]', JSON.stringify(valid), JSON.stringify({ ...valid, pid: -1 })]) {
    writeFileSync(sidecar.statePath, text)
    t.match(await sidecar.status(), { running: false, pid: null }, text)
    t.same(await sidecar.stop(), { stopped: false, pid: null })
  }
})

t.test('the sidecar of another host is not stopped from here', async t => {
  const { sidecar, program } = await openSidecar(t)
  writeState(sidecar.statePath, { ...stateOf(process.pid, program), host: 'elsewhere', start: 'boot ns 1' })
  await t.rejects(sidecar.stop(), { code: 'SKG_SIDECAR_FAILED', message: /the sidecar runs on elsewhere/ })
  t.ok(existsSync(sidecar.statePath))
})

t.test('a process whose record cannot be written is ended', async t => {
  const { sidecar, starts } = await openSidecar(t)
  mkdirSync(dirname(sidecar.statePath), { recursive: true })
  // The draft of the record cannot replace a folder.
  mkdirSync(`${sidecar.statePath}.${process.pid}.tmp`)
  await t.rejects(sidecar.start(), { code: 'SKG_SIDECAR_FAILED' })
  for (const { pid } of starts()) t.notOk(isAlive(pid))
  t.notOk(existsSync(sidecar.statePath))
})

t.test('a disabled or missing sidecar is not started, and the error says why', async t => {
  const { options, program, starts } = await openSidecar(t)
  await t.rejects(new Sidecar({ ...options, disabled: true }).start(), { code: 'SKG_SIDECAR_DISABLED' })
  const empty = join(options.projectRoot, 'empty')
  await t.rejects(new Sidecar({ ...options, folders: [empty] }).start(), {
    code: 'SKG_SIDECAR_MISSING',
    message: new RegExp(`it is not in ${empty}`)
  })
  writeFileSync(program, 'no program')
  chmodSync(program, 0o755)
  await t.rejects(new Sidecar(options).start(), { code: 'SKG_SIDECAR_FAILED' })
  t.equal(starts().length, 0)
})

t.test('the program is found in the first folder that has an executable file of its name', async t => {
  const root = t.testdir({ one: { 'openclaw-gateway': '#!/bin/sh' }, two: { 'openclaw-gateway': {} }, three: {} })
  const folders = ['one', 'two', 'three'].map(name => join(root, name))
  const program = writeProgram(join(root, 'three'))
  t.equal(await locateProgram('openclaw-gateway', folders), program)
  t.equal(await locateProgram('openclaw-gateway', folders.slice(0, 2)), null)
  const found = sidecarFolders({ HOME: '/home/me', PATH: `relative::/usr/local/bin:.` })
  t.equal(found[0], dirname(process.argv[1] ?? process.argv[0] ?? ''))
  t.same(found.slice(-2), ['/home/me/.vox/bin', '/usr/local/bin'], 'relative folders are not searched')
})

t.test('the version is the first line of the program, or null', async t => {
  const { sidecar, program } = await openSidecar(t)
  t.equal(await sidecar.version(program), 'openclaw-gateway 1.4.2')
  t.equal(await sidecar.version('/bin/false'), null)
  t.equal(await sidecar.version(join(dirname(program), 'missing')), null)
})

t.test('programs that svc starts receive no other variables', t => {
  const all = {
    PATH: '/bin',
    LC_ALL: 'C',
    OPENCLAW_X: '1',
    SVC_EXTGW_TOKEN: 's',
    OPENROUTER_API_KEY: 's',
    MY_PATH: 'x'
  }
  t.same(childEnvironment(all), { PATH: '/bin', LC_ALL: 'C', OPENCLAW_X: '1' })
  t.end()
})
