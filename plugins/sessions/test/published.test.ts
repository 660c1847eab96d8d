import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentEventKind, type ContextEnvelope, journeyEnvelopeSchema, newJourney } from '@svc/contracts'
import { seedStatements } from '@svc/plugin-database/testing'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t from 'tap'
import { contextEnvelopeSchema } from '#context'
import { declaredEvents } from './agent-event-source.ts'
import { envelope } from './envelopes.ts'

const contracts = join(import.meta.dirname, '../../../contracts')

function published(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(contracts, file), 'utf8'))
}

function validator(file: string): ValidateFunction {
  return new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true }).compile(published(file))
}

t.test('the published schemas of envelopes equal those in the code', t => {
  const pairs = [
    ['orchestration/journey-envelope.v1.schema.json', journeyEnvelopeSchema],
    ['communication/context-envelope.v1.schema.json', contextEnvelopeSchema('published')]
  ] as const
  for (const [file, used] of pairs) {
    const { $schema, title, description, ...schema } = published(file)
    t.equal($schema, 'https://json-schema.org/draft/2020-12/schema')
    t.type(title, 'string')
    t.type(description, 'string')
    t.same(schema, JSON.parse(JSON.stringify(used)), file)
  }
  t.end()
})

t.test('accepts journey envelopes built by newJourney, and rejects invalid ones', t => {
  const isValid = validator('orchestration/journey-envelope.v1.schema.json')
  const parts = { session_id: 's', repository_id: 'r', origin_surface: 'mcp' } as const
  const journey = newJourney({
    ...parts,
    thread_id: 't',
    trace_id: 'x',
    correlation_id: 'c',
    cognitive_profile: 'fast'
  })
  t.ok(isValid(journey))
  t.match(journey.journey_id, /^journey_\d{19}$/)
  t.not(newJourney(parts).journey_id, newJourney(parts).journey_id)
  t.notOk('cognitive_profile' in newJourney({ ...parts, cognitive_profile: '  ' }))
  t.ok(isValid({ ...journey, thread_id: null, trace_id: null, vendor: { anything: 1 } }))
  const hostile: Record<string, unknown>[] = [
    { envelope_version: 2 },
    { journey_id: '' },
    { journey_id: 'j'.repeat(2049) },
    { session_id: 7 },
    { repository_id: 'r'.repeat(513) },
    { origin_surface: 'web' },
    { trace_id: 't'.repeat(257) },
    { cognitive_profile: 'p'.repeat(65) }
  ]
  for (const change of hostile) t.notOk(isValid({ ...journey, ...change }), JSON.stringify(change).slice(0, 40))
  for (const field of ['envelope_version', 'journey_id', 'session_id', 'repository_id', 'origin_surface'])
    t.notOk(isValid({ ...journey, [field]: undefined }), field)
  t.end()
})

t.test('accepts context envelopes of the declared type, and rejects invalid ones', t => {
  const isValid = validator('communication/context-envelope.v1.schema.json')
  const full: ContextEnvelope = envelope({
    expires_at_unix_ms: 2,
    stale_after_ms: 3,
    obo_token: 'x',
    operating_mode: { verification: { reason: 'doubt' } },
    content: {
      summary_text: '',
      facts: [{ id: 'f', text: 't', refs: ['r'] }],
      repo_paths: ['a.ts'],
      artifact_refs: ['b'],
      citations: ['c'],
      tags: ['d'],
      structured_payload: { anything: [1] }
    },
    budget: { priority: 'critical', injection_mode: 'tool_required', max_tokens: 0, cost_class: 'cheap' }
  })
  t.ok(isValid(full))
  const hostile: object[] = [
    { schema_version: 2 },
    { envelope_id: '' },
    { envelope_type: 'letter' },
    { created_at_unix_ms: 0 },
    { created_at_unix_ms: '1' },
    { trust: { ...full.trust, authority_rank: 10_001 } },
    { trust: { ...full.trust, trust_tier: 'root' } },
    { content: { ...full.content, facts: [{ id: 'f' }] } },
    { conflict_policy: { merge_strategy: 'overwrite' } },
    { subject: {} },
    { budget: null }
  ]
  for (const change of hostile) t.notOk(isValid({ ...full, ...change }), JSON.stringify(change))
  t.end()
})

t.test('the schema of agent events has every type and field that the contract declares', t => {
  const { $defs } = published('communication/agent-event.v1.schema.json') as {
    $defs: Record<string, { properties: object; required: string[] }>
  }
  const declared = [...declaredEvents()].map(([type, { required, optional }]) => [type, required, optional])
  t.ok(declared.length > 50)
  const listed = Object.entries($defs).map(([type, { properties, required }]) => [
    type,
    required.filter(name => name !== 'type').sort(),
    Object.keys(properties)
      .filter(name => name !== 'type' && !required.includes(name))
      .sort()
  ])
  t.same(listed, declared)
  t.end()
})

t.test('accepts agent events of the declared type and of later versions', t => {
  const isValid = validator('communication/agent-event.v1.schema.json')
  const kinds: readonly AgentEventKind[] = [
    { type: 'task_submitted', task_id: 1, agent_id: 2, description: 'd', placement_reason: 'file' },
    { type: 'agent_heartbeat', agent_id: 1, activity: 'writing' },
    { type: 'plan_handoff', from: 1, to: 2, plan_summary: 's', has_context_envelope: false, has_harness_spec: false },
    { type: 'replan_triggered', plan_session_id: 'p', node_id: 'n', reason: 'r', next_version: 2 },
    {
      type: 'cost_incurred',
      agent_id: 1,
      provider: 'p',
      model: 'm',
      input_tokens: 1,
      output_tokens: 2,
      cost_usd: 0.01
    },
    { type: 'prompt_conflict_detected', task_id: 0, warnings: ['w'] },
    { type: 'attention_config_reloaded' },
    { type: 'orchestrator_idle', idle_ms: 0.5 }
  ]
  for (const kind of kinds.slice(0, -1)) t.ok(isValid({ id: 1, timestamp_ms: 0, kind }), kind.type)
  t.notOk(isValid({ id: 1, timestamp_ms: 0, kind: kinds.at(-1) }), 'milliseconds are integers')
  t.ok(isValid({ id: 1, timestamp_ms: 0, kind: { type: 'moon_landed', crew: 3 }, host: 'a' }))
  t.notOk(
    isValid({ id: 1, timestamp_ms: 0, kind: { type: 'task_submitted', task_id: '1', agent_id: 2, description: '' } })
  )
  t.notOk(isValid({ id: 0, timestamp_ms: 0, kind: { type: 'emergency_stop' } }))
  t.notOk(isValid({ id: 1, timestamp_ms: 0, kind: 'emergency_stop' }))
  t.end()
})

t.test('accepts harnesses and messages that match their schemas, and rejects others', t => {
  const isHarness = validator('orchestration/agent-harness.v1.schema.json')
  const harness = {
    schema_version: 1,
    harness_id: 'h',
    runtime_charter: '',
    subject: { repository_id: 'r' },
    roles: [{ role_id: 'builder', prompt_purpose: 'build', responsibilities: [] }],
    stages: [{ stage_id: 's', role_id: 'builder', summary: '' }],
    contracts: {
      required_outputs: [{ artifact_id: 'a', kind: 'file', path_hint: 'a.ts', required: true }],
      completion_gates: [{ gate_id: 'g', description: '', evidence_required: true }],
      requires_artifact_backed_completion: true
    },
    state: { state_root: '.vox', path_addressable: true, compaction_stable: true },
    failure_taxonomy: [{ code: 'F', description: '', retryable: false }]
  }
  t.ok(isHarness(harness))
  t.notOk(isHarness({ ...harness, extra: 1 }))
  t.notOk(isHarness({ ...harness, roles: [{ ...harness.roles[0], extra: 1 }] }))
  t.notOk(isHarness({ ...harness, schema_version: 2 }))
  const isMessage = validator('communication/a2a-message.v1.schema.json')
  const local = {
    id: 1,
    sender: 1,
    receiver: null,
    msg_type: 'free_form',
    payload: '',
    acknowledged: false,
    timestamp_ms: 1,
    priority: 'normal'
  }
  t.ok(isMessage(local))
  t.ok(
    isMessage({
      message_uuid: 'u',
      sender_agent: '1',
      receiver_agent: 'orchestrator_clarifier',
      msg_type: 'clarification_request',
      payload: '{}',
      priority: 5,
      acknowledged: 0,
      delivery_attempts: 0,
      claim_owner: null
    })
  )
  t.notOk(isMessage({ ...local, msg_type: 'shout' }))
  t.notOk(isMessage({ ...local, priority: 9 }))
  t.end()
})

t.test('the file contains exactly the limitations that steps of the canonical journey name', t => {
  const text = readFileSync(join(contracts, 'orchestration/limitations.v1.yaml'), 'utf8')
  const listed = [...text.matchAll(/^ {2}- id: (L-\d{3})\n(?: {4}.*\n)*? {4}steps: \[(.*)\]$/gm)].map(
    ([, id, steps]) => `${id} ${steps}`
  )
  const steps = seedStatements().flatMap(({ parameters }) => {
    const { step_id, limitation_ids } = JSON.parse(String(parameters[3]).startsWith('{') ? String(parameters[3]) : '{}')
    return ((limitation_ids ?? []) as string[]).map(id => [id, String(step_id)] as const)
  })
  const used = new Map<string, string[]>()
  for (const [id, step] of steps) used.set(id, [...(used.get(id) ?? []), step])
  t.same(listed, [...used].map(([id, names]) => `${id} ${names.join(', ')}`).sort())
  t.end()
})
