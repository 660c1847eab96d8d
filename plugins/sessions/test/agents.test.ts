import {
  type AgentEventKind,
  type AgentView,
  defaultQgatePolicy,
  type Orchestrator,
  orchestrator,
  type SessionContext,
  sessionContext,
  type TaskView
} from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { fake, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { parseEnvelope, violationsOf } from '#context'
import {
  contextBudget,
  contextList,
  contextSet,
  handoffContext,
  sessionCreate,
  sessionInfo,
  sessionList,
  sessionReset
} from '#operations'
import sessions from '#plugin'
import { envelope } from './envelopes.ts'

const agents: readonly Partial<AgentView>[] = [
  { id: 1, name: 'one', session_id: 's' },
  { id: 2, name: 'two' }
]

/** Opens the plugin with the part of an orchestrator that sessions use. */
async function opened(lifecycle = { shadow: false, enforce: false }, qgate = defaultQgatePolicy) {
  const emitted: AgentEventKind[] = []
  const running = {
    policy: { context_lifecycle: lifecycle, qgate },
    agent: (id: number) => agents.find(each => each.id === id) ?? null,
    budgets: {
      of: (agent_id: number) => ({ agent_id, max_tokens: 1000, tokens_used: 250, signal: 'Normal' })
    },
    tasks: (): Partial<TaskView>[] => [
      { id: 5, status: { kind: 'Queued' }, description: 'd'.repeat(500) },
      { id: 6, status: { kind: 'Completed' }, description: 'done' }
    ],
    filesOf: () => ['a.ts'],
    emit: (kind: AgentEventKind) => emitted.push(kind)
  } as unknown as Orchestrator
  let context: SessionContext | undefined
  const user = definePlugin({
    name: 'user',
    requires: { context: sessionContext },
    activate(_ctx, deps) {
      context = deps.context
    }
  })
  const kernel = await testKernel([sessions, user], { services: [fake(orchestrator, running)] })
  return { kernel, emitted, context: context as unknown as SessionContext }
}

const from = { source: 'SessionAttach', session_id: 's', repository_id: 'test' } as const

t.test('the budget of an agent names the session that it is bound to or used last', async t => {
  const { kernel, emitted } = await opened()
  const { session_id } = await kernel.call(sessionCreate, { agent_id: 2 })
  t.match(await kernel.call(contextBudget, { agent_id: 2 }), {
    max_tokens: 1000,
    tokens_used: 250,
    tokens_left: 750,
    used_ratio: 0.25,
    session: { session_id, turns: 0, tokens: 0 }
  })
  t.equal((await kernel.call(contextBudget, { agent_id: 1 })).session, null, 'the session of the agent has no turns')
  await t.rejects(kernel.call(contextBudget, { agent_id: 9 }), {
    code: 'ORC_AGENT_NOT_FOUND',
    message: 'Agent A-09 not found'
  })
  await t.rejects(kernel.call(sessionCreate, { agent_id: 9 }), { code: 'ORC_AGENT_NOT_FOUND' })
  await kernel.call(sessionReset, { session_id })
  t.same(emitted, [
    { type: 'session_created', agent_id: 2, session_id },
    { type: 'session_reset', agent_id: 2, session_id, turns_cleared: 0 }
  ])
  await kernel.close()
})

t.test('the handoff context of an agent can be passed to a handoff unchanged', async t => {
  const { kernel, context } = await opened()
  const bare = await kernel.call(handoffContext, { from_agent: 2, to_agent: 1 })
  t.match(bare, { session_id: null, text: '', context_envelope_json: null })
  await context.ingest(JSON.stringify(envelope({ subject: { repository_id: 'test', task_id: 5 } })), from)
  const handoffResult = await kernel.call(handoffContext, { from_agent: 1, to_agent: 2 })
  t.match(handoffResult, { session_id: 's', text: /being rewritten/, owned_files: ['a.ts'] })
  t.match(handoffResult.pending_tasks, [{ task_id: 5, status: 'Queued' }])
  t.equal(handoffResult.pending_tasks.length, 1)
  const handed = parseEnvelope(handoffResult.context_envelope_json ?? '')
  t.match(handed, { envelope_type: 'handoff_context', subject: { session_id: 's', agent_id: 2 } })
  t.ok(handed.obo_token)
  t.same(violationsOf(handed, { repository_id: 'test', session_id: 's', now: Date.now() }), [])
  t.equal((await context.ingest(handoffResult.context_envelope_json ?? '', from)).outcome, 'took_incoming_last_write')
  await kernel.close()
})

t.test('evidence below the minimum confidence is not stored in its session', async t => {
  const evidence = (confidence: number) =>
    JSON.stringify(envelope({ envelope_type: 'retrieval_evidence', trust: { ...envelope().trust, confidence } }))
  const { kernel, context } = await opened()
  t.match(await context.ingest(evidence(0.59), from), { outcome: 'not_stored', violations: [] })
  t.equal(await context.envelope('s'), null)
  const summary = envelope({ trust: { ...envelope().trust, confidence: 0.1 } })
  t.equal((await context.ingest(JSON.stringify(summary), from)).outcome, 'initial_store')
  t.equal((await context.ingest(evidence(0.6), from)).outcome, 'took_incoming_last_write')
  await kernel.close()
  const lenient = await opened(undefined, { ...defaultQgatePolicy, min_persist_confidence: 0.5 })
  t.equal((await lenient.context.ingest(evidence(0.59), from)).outcome, 'initial_store')
  await lenient.kernel.close()
})

t.test('sessions and shared values name their agent', async t => {
  const { kernel } = await opened()
  const { session_id } = await kernel.call(sessionCreate, { agent_id: 2 })
  t.match(await kernel.call(sessionInfo, { session_id }), { agent_id: 2, agent_name: 'two' })
  t.match(await kernel.call(sessionList, {}), { sessions: [{ agent_id: 2, agent_name: 'two' }] })
  await kernel.call(contextSet, { key: 'a', value: '1', agent_id: 9 })
  await kernel.call(contextSet, { key: 'b', value: '2' })
  const { entries } = await kernel.call(contextList, {})
  t.same(
    entries.map(({ key, agent_name }) => [key, agent_name]),
    [
      ['a', 'A-09'],
      ['b', undefined]
    ]
  )
})

t.test('without an orchestrator, agents are unknown', async t => {
  const kernel = await testKernel([sessions])
  await t.rejects(kernel.call(contextBudget, { agent_id: 1 }), { code: 'SES_NO_ORCHESTRATOR' })
  await t.rejects(kernel.call(handoffContext, { from_agent: 1, to_agent: 2 }), { code: 'SES_NO_ORCHESTRATOR' })
  await kernel.close()
})

t.test('in shadow mode envelopes are logged and no request is rejected', async t => {
  const { kernel, context, emitted } = await opened({ shadow: true, enforce: false })
  const { provenance } = envelope()
  const traced = envelope({ provenance: { ...provenance, trace_id: 'trace', correlation_id: 'c' } })
  await context.ingest(JSON.stringify(traced), from)
  await context.ingest(JSON.stringify(envelope({ envelope_id: 'ctx-2', schema_version: 2 as 1 })), from)
  const review = envelope({ envelope_id: 'ctx-3', conflict_policy: { merge_strategy: 'manual_review' } })
  t.equal((await context.ingest(JSON.stringify(review), from)).outcome, 'not_stored')
  const events = kernel.log.filter(({ fields }) => typeof fields.event === 'string').map(({ fields }) => fields)
  t.match(events, [
    {
      event: 'context.capture',
      source: 'SessionAttach',
      repository_id: 'test',
      session_id: 's',
      envelope_id: 'ctx-1',
      envelope_type: 'session_summary',
      merge_strategy: 'last_write_wins',
      trace_id: 'trace',
      correlation_id: 'c'
    },
    { event: 'context.select', outcome: 'initial_store', incoming_envelope_id: 'ctx-1', prior_envelope_id: null },
    { event: 'context.violation', envelope_id: 'ctx-2', violations: ['schema_version is 2, but must be 1'] },
    { event: 'context.capture', envelope_id: 'ctx-3' },
    {
      event: 'context.select',
      strategy: 'manual_review',
      outcome: 'not_stored',
      incoming_envelope_id: 'ctx-3',
      prior_envelope_id: 'ctx-1'
    }
  ])
  t.equal(events.length, 5)
  await context.inject('s', 17)
  t.match(emitted, [{ type: 'context_truncated', session_id: 's', section: 'session_context' }])
  await kernel.close()
})

t.test(
  'with lifecycle enforcement, a violation is an error for the caller, as is a merge that needs a user',
  async t => {
    const { kernel, context } = await opened({ shadow: false, enforce: true })
    const review = envelope({ conflict_policy: { merge_strategy: 'manual_review' } })
    t.equal((await context.ingest(JSON.stringify(review), from)).outcome, 'initial_store')
    const refusals = [
      [review, /the session "s" already has an envelope/],
      [envelope({ subject: { repository_id: 'x' } }), /subject\.repository_id is "x"/],
      [envelope({ expires_at_unix_ms: 5, created_at_unix_ms: 0 }), /created_at_unix_ms.*; expires_at_unix_ms/],
      [envelope({ subject: { repository_id: 'test', session_id: 'other' } }), /subject\.session_id/]
    ] as const
    for (const [given, message] of refusals)
      await t.rejects(context.ingest(JSON.stringify(given), from), { code: 'ORC_ENVELOPE_INVALID', message })
    t.match(await context.envelope('s'), { envelope_id: 'ctx-1' })
    const many = Array.from({ length: 900 }, (_, at) => ({ id: `f${at}`, text: 'x'.repeat(80) }))
    const large = (prefix: string): string =>
      JSON.stringify(
        envelope({
          content: { summary_text: '', facts: many.map(({ id, text }) => ({ id: prefix + id, text })) },
          conflict_policy: { merge_strategy: 'crdt_merge' }
        })
      )
    await context.ingest(large('a'), from)
    await t.rejects(context.ingest(large('b'), from), { message: /larger than 131072 bytes/ })
    t.equal((await context.envelope('s'))?.content.facts?.length, 900, 'the previous envelope is unchanged')
    await kernel.close()
  }
)
