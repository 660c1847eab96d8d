import {
  type Attestation,
  type HeldTask,
  type MeshMessage,
  type Orchestrator,
  type RemoteDelegate,
  remoteAttestation,
  remoteAttestationOf
} from '@svc/contracts'
import { schemaCheck } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t from 'tap'
import { Delegation, LeaseHolder, MeshClient, PlainRelay, ResultPoll } from '#root'
import { json, openServer, text } from './http-server.ts'

const NOW = 1_800_000_000_000
const log = { debug() {}, info() {}, warn() {}, error() {} }
const POLICY = {
  remote_execute_sender_agent: '1',
  remote_execute_receiver_agent: '2',
  remote_result_max_messages_per_poll: 64
}

type Message = Pick<MeshMessage, 'message_type' | 'payload'> & { readonly ageMs?: number }

/** A poll of an orchestrator with these holds, against a control plane with these messages. */
async function open(
  t: Parameters<typeof openServer>[0],
  options: {
    readonly held?: readonly Partial<HeldTask>[]
    readonly known?: readonly number[]
    readonly messages?: readonly Message[]
    readonly renew?: number
    readonly withdraw?: number
    readonly schedulable?: number | null
  }
) {
  const acked: number[] = []
  const calls: string[] = []
  const attestations: Attestation[] = []
  const holds: HeldTask[] = (options.held ?? []).map((over, index) => {
    const delegate: RemoteDelegate = {
      idempotency_key: `orch-remote-${index + 1}-1`,
      placer: 'mesh',
      confirmed: true,
      lease_id: '7',
      message_id: 900 + index,
      ...over.delegate
    }
    return { task_id: index + 1, agent_id: 1, since_ms: NOW, ...over, delegate }
  })
  const end = (what: string, key: string): 'done' | 'stale' => {
    const at = holds.findIndex(({ delegate }) => delegate.idempotency_key === key)
    calls.push(`${what} ${key}`)
    if (at === -1) return 'stale'
    holds.splice(at, 1)
    return 'done'
  }
  const { url, received } = await openServer(t, ({ path, body }, response) => {
    if (path.endsWith('/a2a/inbox')) {
      const before = (body as { before_message_id?: number }).before_message_id ?? Number.POSITIVE_INFINITY
      const rows = (options.messages ?? [])
        .map(({ ageMs = 0, ...message }, index) => {
          const route = { sender_agent_id: '2', receiver_agent_id: '1', acknowledged: false }
          return { id: index + 1, created_unix_ms: NOW - ageMs, ...route, ...message }
        })
        .filter(({ id }) => !acked.includes(id) && id < before)
        .reverse()
      json(response, 200, { messages: rows }, { date: new Date(NOW).toUTCString() })
    } else if (path.endsWith('/a2a/ack')) {
      const { message_id } = body as { message_id: number }
      if (message_id < 900) acked.push(message_id)
      response.writeHead(message_id >= 900 ? (options.withdraw ?? 204) : 204).end()
    } else if (path.endsWith('/a2a/deliver')) json(response, 200, { accepted: true, message_id: 1_000 })
    else if (path.endsWith('/join')) json(response, 200, body)
    else if (path.endsWith('/renew') && options.renew !== undefined) text(response, options.renew, 'mesh: no')
    else response.writeHead(204).end()
  })
  const client = new MeshClient({
    settings: { controlUrls: [url], token: () => null },
    controlUrl: () => null,
    timeoutMs: () => 10_000
  })
  const report = { id: 'orch-me', version: '1', capabilities: {} }
  const holder = new LeaseHolder({ client, settings: { heartbeatSeconds: 0 }, report, log, onGrant() {} })
  const orchestrator = {
    repositoryId: 'repo',
    subscribe: () => () => {},
    task: (id: number) => (options.known?.includes(id) ? ({ id, status: { kind: 'InProgress' } } as never) : null),
    complete: async () => ({ completed: true }),
    remote: {
      held: () => holds,
      accept: async () => 'done',
      complete: async (_task: number, key: string, attestation: Attestation) => {
        attestations.push(attestation)
        return end('complete', key)
      },
      fail: async (_task: number, key: string) => end('fail', key),
      fallBack: async (_task: number, key: string) => (end('fall back', key) === 'done' ? 'queued' : 'stale')
    }
  } as unknown as Orchestrator
  const policy = () => POLICY as never
  const delegation = new Delegation({ client, holder, orchestrator, policy, settings: { scopeId: null }, log })
  const relay = new PlainRelay({ orchestrator, delegation, log })
  const schedulable = () => options.schedulable ?? null
  const now = () => NOW
  const poll = new ResultPoll({ client, holder, delegation, relay, orchestrator, policy, schedulable, log, now })
  return { poll: () => poll.poll(new AbortController().signal), acked, calls, attestations, holds, received }
}

const MINE = { submitter_node_id: 'orch-me', submitter_repository_id: 'repo' }
const result = (fields: object, ageMs = 0): Message => ({
  message_type: 'remote_task_result',
  payload: JSON.stringify({ idempotency_key: 'orch-remote-1-1', success: true, ...fields }),
  ageMs
})

for (const status of [403, 404, 409])
  t.test(`a lease that cannot be renewed because of ${status} returns the task to the local queue`, async t => {
    const { poll, calls, received } = await open(t, { held: [{}], renew: status })
    await poll()
    t.same(calls, ['fall back orch-remote-1-1'])
    const paths = received.map(({ path }) => path.replace('/v1/mesh', ''))
    t.same(paths.slice(-3), ['/a2a/ack', '/a2a/deliver', '/exec/lease/release'], 'withdrawn, cancelled and released')
    t.match(received.at(-2)?.body, { message_type: 'remote_task_cancel', priority: 255 })
  })

t.test('a lease that cannot be renewed because the control plane fails is kept', async t => {
  const { poll, calls } = await open(t, { held: [{}], renew: 500 })
  await poll()
  t.same(calls, [])
})

t.test('a result is used even if its lease has just ended', async t => {
  const { poll, calls, acked } = await open(t, { held: [{}], renew: 404, messages: [result({ task_id: 1, ...MINE })] })
  await poll()
  t.same(calls, ['complete orch-remote-1-1'])
  t.same(acked, [1])
})

t.test(
  'the claims of a result are passed on together with the review, except for those that only the owner may make',
  async t => {
    const attestation = {
      checks_passed: ['tests', 'peer_review_approved'],
      artifact_paths: ['a.ts'],
      evidence_citations: ['e-1'],
      declared_non_placeholder: true,
      completion_summary: 'another text',
      force_risky: true,
      force_risky_reason: 'trust me'
    }
    const run = async (fields: object) => {
      const { poll, attestations } = await open(t, { held: [{}], messages: [result({ task_id: 1, ...fields })] })
      await poll()
      return attestations
    }
    t.same(await run({ result: 'It is done.', attestation }), [
      {
        completion_summary: 'It is done.',
        checks_passed: ['tests', 'peer_review_approved'],
        artifact_paths: ['a.ts'],
        evidence_citations: ['e-1'],
        declared_non_placeholder: true
      }
    ])
    const spec = { completion_summary: 'It is done.', checks_passed: ['peer_review_approved'] }
    t.same(await run({ result: 'It is done.' }), [spec], 'an older worker sends no claims')
    t.same(await run({ result: 'It is done.', attestation: {} }), [spec])
    t.same(
      await run({ result: 'It is done.', attestation: { declared_non_placeholder: 'yes' } }),
      [],
      'it is unreadable'
    )
  }
)

t.test('a worker sends claims within the limits of the schema, and never more than the completion had', async t => {
  const check = schemaCheck(remoteAttestation)
  const items = fc.array(
    fc.oneof(
      fc.string(),
      fc.integer({ min: 4_000, max: 5_000 }).map(length => 'x'.repeat(length))
    ),
    {
      maxLength: 1_100
    }
  )
  fc.assert(
    fc.property(
      items,
      items,
      items,
      fc.option(fc.boolean(), { nil: undefined }),
      (checks, paths, citations, declared) => {
        const given = { checks_passed: checks, artifact_paths: paths, evidence_citations: citations }
        const sent = remoteAttestationOf(
          declared === undefined ? given : { ...given, declared_non_placeholder: declared }
        )
        const isSubset = (Object.keys(given) as (keyof typeof given)[]).every(name => {
          return (sent[name] ?? []).every(item => given[name].includes(item))
        })
        const isDeclared = sent.declared_non_placeholder === true
        return check(sent).ok && isSubset && isDeclared === (declared === true) && JSON.stringify(sent).length < 250_000
      }
    ),
    { numRuns: 50 }
  )
  const small = { checks_passed: ['a'], artifact_paths: ['b'], declared_non_placeholder: true }
  t.same(remoteAttestationOf(small), small)
})

t.test('if the envelope has left the inbox, the result is awaited for one more poll', async t => {
  const { poll, calls } = await open(t, { held: [{}], renew: 404, withdraw: 404 })
  await poll()
  t.same(calls, [])
  await poll()
  t.same(calls, ['fall back orch-remote-1-1'])
})

t.test('an unaccepted task returns after 30 s without a schedulable node, and only then', async t => {
  const long = { since_ms: NOW - 30_001 }
  const ack = { message_type: 'remote_task_ack', payload: '{"idempotency_key":"orch-remote-1-1","accepted":true}' }
  const runs = async (options: Parameters<typeof open>[1]) => {
    const { poll, calls } = await open(t, options)
    await poll()
    return calls.length
  }
  t.equal(await runs({ held: [long], schedulable: 0 }), 1)
  t.equal(await runs({ held: [long], schedulable: 1 }), 0)
  t.equal(await runs({ held: [long], schedulable: null }), 0)
  t.equal(await runs({ held: [{ since_ms: NOW - 29_999 }], schedulable: 0 }), 0)
  t.equal(await runs({ held: [long], schedulable: 0, messages: [ack] }), 0)
})

t.test('messages with an unknown key are removed when they have no taker', async t => {
  const other = { idempotency_key: 'orch-remote-5-9', task_id: 5 }
  const foreign = { ...other, submitter_node_id: 'orch-else', submitter_repository_id: 'repo' }
  const cases: readonly (readonly [string, Message, boolean])[] = [
    ['an old hold of a task that is here', result({ ...other, ...MINE }), true],
    ['a task of another process of this machine', result({ ...other, ...MINE, task_id: 6 }), false],
    ['the same after the longest hold', result({ ...other, ...MINE, task_id: 6 }, 360_001), true],
    ['a task of another machine', result(foreign), false],
    ['the same after an hour', result(foreign, 3_600_001), true],
    [
      'the same repository name on another machine',
      result({ ...foreign, submitter_repository_id: 'x' }, 360_001),
      false
    ],
    ['a worker that does not name the machine', result(other), false],
    ['the same after the longest hold', result(other, 360_001), true],
    ['a message between agents', { message_type: 'free_form', payload: 'hi', ageMs: 10 ** 9 }, false]
  ]
  for (const [name, message, removed] of cases) {
    const { poll, acked, calls } = await open(t, { known: [5], messages: [message] })
    await poll()
    t.equal(acked.length, removed ? 1 : 0, name)
    t.same(calls, [], `${name}: no task changes`)
  }
})

t.test('payloads of any content neither stop the poll nor end a task', async t => {
  const type = fc.constantFrom('remote_task_result', 'remote_task_ack', 'other')
  const payload = fc.oneof(fc.string(), fc.json(), fc.constantFrom('{"idempotency_key":"orch-remote-9-9","success":1}'))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ message_type: type, payload }), { maxLength: 8 }), async messages => {
      const { poll, calls } = await open(t, { held: [{}], messages })
      await poll()
      return calls.length === 0
    }),
    { numRuns: 25 }
  )
})
