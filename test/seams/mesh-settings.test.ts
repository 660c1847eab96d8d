import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { declareSections, readSources, resolve } from '@svc/config'
import t from 'tap'
import { ownManifests } from '../../tools/docs.ts'

const manifest = (await ownManifests()).find(({ name }) => name === 'orchestrator')
const registry = declareSections([
  { name: 'orchestrator', tables: [['plugins', 'orchestrator'], ['orchestrator']], schema: manifest?.config ?? {} }
])

/** Resolves the settings of the orchestrator from a file and from variables without their prefix. */
function settingsOf(variables: Readonly<Record<string, string>>, text = '') {
  const root = mkdtempSync(join(tmpdir(), 'svc-mesh-settings-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  writeFileSync(join(root, 'svc.toml'), text)
  const named = Object.entries(variables).map(([name, value]) => [`SVC_ORCHESTRATOR_MESH_${name}`, value])
  const sources = readSources({ cwd: root, env: { HOME: root, ...Object.fromEntries(named) }, defaultsFile: null })
  const { sections } = resolve(sources, registry)
  const section = sections.find(({ name }) => name === 'orchestrator')
  return { settings: section?.settings ?? {}, problems: section?.problems ?? [] }
}

/** Each variable with a value, and the setting with the value that it gets. */
const VARIABLES: readonly (readonly [variable: string, text: string, setting: string, value: unknown])[] = [
  ['CONTROL_URL', ' http://plane:9847 ', 'control_url', 'http://plane:9847'],
  ['POLL_INTERVAL_SECS', '0', 'poll_interval_secs', 0],
  ['HTTP_TIMEOUT_MS', '1', 'http_timeout_ms', 1],
  ['ROUTING_EXPERIMENTAL', 'true', 'routing_experimental', true],
  ['REBALANCE_ON_REMOTE_SCHEDULABLE_DROP', 'true', 'rebalance_on_remote_schedulable_drop', true],
  ['REPLAY_QUEUED_ROUTES_ON_REMOTE_SCHEDULABLE_DROP', 'true', 'replay_queued_routes_on_remote_schedulable_drop', true],
  ['TRAINING_ROUTING_EXPERIMENTAL', 'true', 'training_routing_experimental', true],
  ['TRAINING_BUDGET_PRESSURE', '1.5', 'training_budget_pressure', 1.5],
  ['REMOTE_EXECUTE_EXPERIMENTAL', 'true', 'remote_execute_experimental', true],
  ['REMOTE_LEASE_GATING_ENABLED', 'true', 'remote_lease_gating_enabled', true],
  ['REMOTE_LEASE_GATED_ROLES', 'planner, Builder,nobody', 'remote_lease_gated_roles', ['planner', 'Builder', 'nobody']],
  ['REMOTE_EXECUTE_RECEIVER_AGENT', '2', 'remote_execute_receiver_agent', '2'],
  ['REMOTE_EXECUTE_SENDER_AGENT', '7', 'remote_execute_sender_agent', '7'],
  ['REMOTE_RESULT_POLL_INTERVAL_SECS', '0', 'remote_result_poll_interval_secs', 0],
  ['REMOTE_WORKER_POLL_INTERVAL_SECS', '1', 'remote_worker_poll_interval_secs', 1],
  ['REMOTE_RESULT_MAX_MESSAGES_PER_POLL', '1', 'remote_result_max_messages_per_poll', 1],
  ['EXEC_LEASE_RECONCILE', '1', 'exec_lease_reconcile', true],
  ['EXEC_LEASE_AUTO_REVOKE', 'true', 'exec_lease_auto_revoke', true]
]

t.test('the 18 variables of the mesh client set their settings', async t => {
  t.equal(VARIABLES.length, 18)
  const all = Object.fromEntries(VARIABLES.map(([variable, text]) => [variable, text]))
  const { settings, problems } = settingsOf(all)
  t.same(problems, [])
  for (const [variable, , setting, value] of VARIABLES) t.same(settings[`mesh_${setting}`], value, variable)
})

t.test('files may name them mesh_* and populi_*; variables win', async t => {
  for (const prefix of ['mesh', 'populi']) {
    const lines = VARIABLES.map(([, , setting, value]) => `${prefix}_${setting} = ${JSON.stringify(value)}`)
    const { settings, problems } = settingsOf({ POLL_INTERVAL_SECS: '3' }, ['[orchestrator]', ...lines].join('\n'))
    t.same(problems, [], prefix)
    for (const [, , setting, value] of VARIABLES)
      t.same(settings[`mesh_${setting}`], setting === 'poll_interval_secs' ? 3 : value, `${prefix}_${setting}`)
  }
  t.match(settingsOf({}, '[orchestrator]\npopuli_inference_base_url = "http://a:1"').settings, {
    inference_base_url: 'http://a:1'
  })
})

t.test('an invalid variable is a warning, and the default applies', async t => {
  const { settings, problems } = settingsOf({
    REMOTE_EXECUTE_SENDER_AGENT: 'me',
    REMOTE_RESULT_MAX_MESSAGES_PER_POLL: '0',
    ROUTING_EXPERIMENTAL: '1',
    POLL_INTERVAL_SECS: 'often',
    CONTROL_URL: ' '
  })
  t.match(settings, {
    mesh_remote_execute_sender_agent: '1',
    mesh_remote_result_max_messages_per_poll: 64,
    mesh_routing_experimental: false,
    mesh_poll_interval_secs: 30
  })
  t.notOk('mesh_control_url' in settings)
  t.same(
    problems.map(({ code, severity }) => `${severity} ${code}`),
    Array(4).fill('warning CFG_ENV_INVALID')
  )
})
