import {
  type AgentEvent,
  type ObservabilitySpans,
  type Orchestrator,
  observabilitySpans,
  orchestrator as orchestratorToken,
  type PlacingTask,
  type RemoteNode,
  type RemotePlacement,
  remotePlacers
} from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'

const DONE = { checks_passed: ['peer_review_approved'] }
const settings = { orchestrator: { stubcheck_gate: false, auto_continue_enabled: false } }
const node: RemoteNode = {
  node_id: 'gpu-1',
  capabilities: {},
  labels: [],
  has_gpu: true,
  maintenance: false,
  quarantined: false,
  heartbeat_stale: false
}

interface Stranger {
  readonly kernel: TestKernel
  readonly orchestrator: () => Orchestrator
  readonly withdrawn: string[]
  /** Answers of the placements that wait. */
  readonly answers: ((placement: RemotePlacement) => void)[]
  readonly placed: PlacingTask[]
  /** Attributes of the recorded spans, by name. */
  readonly spans: Map<string, object>
}

/** Serves the orchestrator with a foreign plugin that places tasks through the open point. */
async function served(t: { teardown(run: () => unknown): unknown }, more: object = {}): Promise<Stranger> {
  const withdrawn: string[] = []
  const answers: ((placement: RemotePlacement) => void)[] = []
  const placed: PlacingTask[] = []
  let tasks: { readonly current: Orchestrator } | undefined
  const stranger = definePlugin({
    name: 'stranger',
    requires: { tasks: ref(orchestratorToken) },
    activate(ctx, deps) {
      tasks = deps.tasks
      ctx.contribute(remotePlacers, {
        name: 'stranger',
        wants: ({ role }) => deps.tasks.current.policy.mesh.remote_lease_gated_roles.includes(role),
        place: task => {
          placed.push(task)
          return new Promise(resolve => answers.push(resolve))
        }
      })
      ctx.onServe('follow withdrawn tasks', () => {
        deps.tasks.current.remote.withdrawn((task, _delegate, why) => void withdrawn.push(`${task} ${why}`))
      })
    }
  })
  const spans = new Map<string, object>()
  const kernel = await testKernel([plugin, stranger] as Plugin[], {
    services: [fake(observabilitySpans, recorder(spans))],
    settings: { orchestrator: { ...settings.orchestrator, mesh_remote_lease_gated_roles: ['Builder'], ...more } }
  })
  t.teardown(() => kernel.close())
  return { kernel, orchestrator: () => tasks?.current as Orchestrator, withdrawn, answers, placed, spans }
}

/** Records the names and attributes of spans. */
function recorder(spans: Map<string, object>): ObservabilitySpans {
  const step: ObservabilitySpans['step'] = (_plugin, name, attributes = {}) => {
    const own = { ...attributes }
    spans.set(name, own)
    return {
      traceId: '0',
      spanId: '0',
      requestId: null,
      set: (more: object) => Object.assign(own, more),
      end: () => {}
    } as never
  }
  return { current: () => undefined, step } as Partial<ObservabilitySpans> as ObservabilitySpans
}

async function until<A>(look: () => A | undefined): Promise<A> {
  for (const deadline = Date.now() + 120_000; ; ) {
    const found = look()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error('the condition was not met in time')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

const builder = { description: 'Build it', files: [], hints: { execution_role: 'builder' } } as const

t.test('a plugin that the orchestrator does not know places tasks, and hears of withdrawn ones', async t => {
  const { kernel, orchestrator, answers, withdrawn, placed, spans } = await served(t)
  t.match(await orchestrator().submit({ ...builder, hints: { execution_role: 'verifier' } }), { status: 'Queued' })
  const submitting = orchestrator().submit({ ...builder, agent_name: 'two' })
  ;(await until(() => answers.pop()))({ lease_id: '3' })
  t.match(await submitting, { task_id: 2, status: 'InProgress' })
  t.match(placed, [{ id: 2, description: 'Build it' }])
  const facts = { placement_reason: 'mesh_remote_lease_hold', lease_id: '3' }
  const target = 'vox.orchestrator.placement'
  t.match(
    kernel.log.filter(({ message }) => message === 'a task was placed').map(({ fields }) => fields),
    [{ target, task_id: 2, agent_id: 2, ...facts }]
  )
  t.match(spans.get('task T-0001'), { 'svc.placement_reason': 'local_queue_default' })
  t.match(spans.get('task T-0002'), { 'svc.placement_reason': facts.placement_reason, 'svc.lease_id': '3' })
  await orchestrator().cancel(2)
  await until(() => withdrawn[0])
  t.same(withdrawn, ['2 cancelled'])
})

t.test('holds, nodes and listeners survive a reload, also one during a placement', async t => {
  const { kernel, orchestrator, answers, withdrawn, placed } = await served(t)
  const { remote } = orchestrator()
  remote.setNodes('stranger', [node])
  const events: AgentEvent[] = []
  orchestrator().subscribe(event => events.push(event))
  const submitting = orchestrator().submit(builder)
  const answer = await until(() => answers.pop())
  await kernel.replace(plugin as Plugin)
  t.match(orchestrator().remote.held(), [{ task_id: 1, delegate: { confirmed: false } }])
  t.equal(await orchestrator().next(1), null)
  answer({ lease_id: '3', mesh_node_id: 'gpu-1' })
  t.match(await submitting, { status: 'InProgress' })
  const confirmed = { task_id: 1, delegate: { confirmed: true, lease_id: '3', mesh_node_id: 'gpu-1' } }
  t.match(remote.held(), [confirmed])
  await kernel.replace(plugin as Plugin)
  t.match(remote.held(), [confirmed])
  t.match(remote.nodes(), [{ ...node, source: 'stranger' }])
  t.same(remote.setNodes('stranger', []), { before: 1, after: 0 })
  t.equal(placed.length, 1)
  await orchestrator().doubt(1, 'odd')
  await until(() => withdrawn[0])
  t.same(withdrawn, ['1 moved'])
  t.equal(events.filter(({ kind }) => kind.type === 'task_placed').length, 1)
  const key = placed[0]?.remote.idempotency_key ?? ''
  t.equal(await remote.complete(1, key, DONE), 'stale')
})

t.test('the settings of the mesh reach other plugins; unknown roles are ignored with a warning', async t => {
  const { kernel, orchestrator } = await served(t, {
    mesh_control_url: 'plane:9847',
    mesh_training_budget_pressure: 7,
    mesh_remote_lease_gated_roles: [' Builder', 'VERIFIER', 'builder', 'captain', ''],
    mesh_remote_lease_timeout_ms: 5_000
  })
  t.same(orchestrator().policy.mesh, {
    control_url: 'plane:9847',
    poll_interval_secs: 30,
    http_timeout_ms: 10_000,
    stale_threshold_ms: 60_000,
    routing_experimental: false,
    rebalance_on_remote_schedulable_drop: false,
    replay_queued_routes_on_remote_schedulable_drop: false,
    training_routing_experimental: false,
    training_budget_pressure: 1,
    remote_execute_experimental: false,
    remote_lease_gating_enabled: false,
    remote_lease_gated_roles: ['builder', 'verifier'],
    remote_execute_receiver_agent: null,
    remote_execute_sender_agent: '1',
    remote_result_poll_interval_secs: 5,
    remote_worker_poll_interval_secs: 5,
    remote_result_max_messages_per_poll: 64,
    exec_lease_reconcile: false,
    exec_lease_auto_revoke: false,
    remote_lease_timeout_ms: 5_000
  })
  t.match(
    kernel.log.filter(({ message }) => message.includes('gated_roles')).map(({ message }) => message),
    ['[orchestrator] mesh_remote_lease_gated_roles: captain is not a role; it is ignored']
  )
})
