import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { daemonStatePath } from '@svc/contracts'
import t from 'tap'
import { examineInstallation, examinePlugins, examineRuntime, type Finding } from '#root'
import { fakeAdmin, pluginReport } from './fake-admin.ts'

const statusOf = (findings: readonly Finding[], subject: string): string | undefined =>
  findings.find(finding => finding.subject === subject)?.status

const QUIET: ReadonlySet<string> = new Set(['active', 'resolved', 'disabled'])

t.test('the status of a plugin shows whether its state needs an action', async t => {
  const states = [
    'active',
    'resolved',
    'disabled',
    'waiting',
    'degraded',
    'invalid',
    'failed',
    'quarantined',
    'stuck'
  ] as const
  const findings = await examinePlugins(
    fakeAdmin(states.map(state => pluginReport(state, { state, why: QUIET.has(state) ? null : 'so' }))),
    false
  )
  t.same(
    findings.map(({ status }) => status),
    ['ok', 'ok', 'ok', 'warning', 'warning', 'error', 'error', 'error', 'error']
  )
  t.match(findings.at(-1), { detail: 'stuck: so', hint: 'svc plugins why stuck' })
})

t.test('health checks are also findings', async t => {
  const health = [
    { plugin: 'a', label: 'socket', status: 'ok' },
    { plugin: 'a', label: 'disk', status: 'degraded', detail: 'nearly full' },
    { plugin: 'b', label: 'peer', status: 'failed', detail: 'gone' }
  ] as const
  t.match(await examinePlugins(fakeAdmin([], { health: async () => health }), false), [
    { subject: 'a: socket', status: 'ok' },
    { subject: 'a: disk', status: 'warning', detail: 'nearly full' },
    { subject: 'b: peer', status: 'error', detail: 'gone' }
  ])
})

t.test('a Node version that is too old is an error, an ageing one a warning', async t => {
  t.equal(examineRuntime('18.20.0').status, 'error')
  t.equal(examineRuntime('20.18.3').status, 'error')
  t.equal(examineRuntime('20.20.2').status, 'warning')
  t.equal(examineRuntime('24.1.0').status, 'ok')
})

t.test('doctor checks runtime, state folder, daemon, configuration and plugins', async t => {
  const projectRoot = t.testdir({})
  const installation = {
    admin: fakeAdmin([pluginReport('a')]),
    projectRoot,
    openState: async () => join(projectRoot, '.vox', 'x')
  }
  const findings = await examineInstallation(installation, true)
  t.equal(statusOf(findings, 'state folder'), 'error', 'a missing folder is an error')
  t.equal(statusOf(findings, 'daemon'), 'ok')
  t.equal(statusOf(findings, 'configuration'), 'ok')
  t.match(
    findings.at(-1),
    { subject: 'plugin a', detail: 'resolved' },
    'a plugin that is active only for this command is reported as resolved'
  )
})

t.test('a daemon that does not respond is reported', async t => {
  const projectRoot = t.testdir({})
  const file = daemonStatePath(projectRoot)
  mkdirSync(dirname(file), { recursive: true })
  const state = {
    pid: process.pid,
    started_at: 'x',
    socket: join(projectRoot, 'no.sock'),
    version: '1',
    repository_id: 'r'
  }
  writeFileSync(file, JSON.stringify(state))
  const findings = await examineInstallation(
    { admin: fakeAdmin([]), projectRoot, openState: async () => projectRoot },
    true
  )
  t.equal(statusOf(findings, 'daemon'), 'warning')
  t.equal(statusOf(findings, 'state folder'), 'ok')
})

t.test('a running plugin with a problem is no ok line, and further problems have lines', async t => {
  const taken = {
    plugin: 'a',
    severity: 'warning',
    code: 'LDR_NAME_TAKEN',
    message: 'two plugins are named a: /one is used, /two is ignored',
    hint: 'remove or rename one of them',
    key: null,
    location: '/two'
  } as const
  const why = 'last change refused: package.json is not JSON'
  const kept = { ...taken, plugin: 'b', code: 'LDR_PACKAGE_INVALID', message: 'package.json is not JSON' }
  const setting = { ...taken, code: 'CFG_VALUE_INVALID', message: 'n must be an integer' }
  const plugins = [
    pluginReport('a'),
    pluginReport('b', { refused: true, why, hint: 'correct the file' }),
    pluginReport('c', { state: 'disabled', why: 'left out by --only' })
  ]
  const admin = fakeAdmin(plugins, { findings: () => [taken, kept, setting] })
  t.same((await examinePlugins(admin, false)).slice(0, 4), [
    { subject: 'plugin a', status: 'ok', detail: 'active', hint: null },
    { subject: 'plugin b', status: 'warning', detail: `active: ${why}`, hint: 'correct the file' },
    { subject: 'plugin c', status: 'ok', detail: 'disabled: left out by --only', hint: null },
    { subject: 'plugin a', status: 'warning', detail: taken.message, hint: taken.hint }
  ])
})
