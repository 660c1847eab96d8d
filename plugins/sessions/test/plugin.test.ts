import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ContextStore,
  contextStore,
  databaseStore,
  newJourney,
  type PrimaryDatabase,
  rowsByName,
  type SessionContext,
  sessionContext,
  type Transcripts,
  transcripts
} from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import '../../database/test/built-worker.ts'
import {
  chatHistory,
  contextGet,
  contextList,
  contextSet,
  sessionCreate,
  sessionInfo,
  sessionList,
  sessionReset
} from '#operations'
import sessions from '#plugin'
import { envelope } from './envelopes.ts'

interface Services {
  readonly context: SessionContext
  readonly store: ContextStore
  readonly chatLog: Transcripts
}

interface Opened extends Services {
  readonly kernel: TestKernel
  readonly rows: (sql: string) => Promise<Record<string, unknown>[]>
}

async function opened(withDatabase: boolean): Promise<Opened> {
  let services: Services | undefined
  let primary: PrimaryDatabase | undefined
  const user = definePlugin({
    name: 'user',
    requires: { context: sessionContext, store: contextStore, chatLog: transcripts },
    activate(_ctx, deps) {
      services = deps
    }
  })
  const reader = definePlugin({
    name: 'reader',
    requires: { store: databaseStore },
    activate(_ctx, { store }) {
      primary = store
    }
  })
  const plugins: Plugin[] = withDatabase ? [database, sessions, user, reader] : [sessions, user]
  const kernel = await testKernel(plugins)
  return {
    kernel,
    ...(services as unknown as Services),
    rows: async sql => rowsByName((await primary?.query(sql)) ?? { columns: [], rows: [] })
  }
}

const journey = newJourney({ session_id: 'default', repository_id: 'test', origin_surface: 'mcp' })

for (const withDatabase of [true, false]) {
  const where = withDatabase ? 'with a database' : 'without a database'

  t.test(`${where}, context is shared until it expires`, async t => {
    const { kernel, store } = await opened(withDatabase)
    await kernel.call(contextSet, { key: 'plan', value: 'first', agent_id: 3 })
    await kernel.call(contextSet, { key: 'plan', value: 'then' })
    await kernel.call(contextSet, { key: 'plans/%', value: '1', ttl_seconds: 3600 })
    await store.set('over', 'x', { ttlSeconds: -1 })
    t.match(await kernel.call(contextGet, { key: 'plan' }), { value: 'then', agent_id: null, expires_at_ms: null })
    await t.rejects(kernel.call(contextGet, { key: 'over' }), { code: 'SES_CONTEXT_UNKNOWN' })
    const { entries, count } = await kernel.call(contextList, {})
    t.same(
      [count, entries.map(({ key, length }) => [key, length])],
      [
        2,
        [
          ['plan', 4],
          ['plans/%', 1]
        ]
      ]
    )
    t.equal((await kernel.call(contextList, { prefix: 'plans/' })).count, 1)
    t.equal((await kernel.call(contextList, { prefix: '%' })).count, 0, 'a prefix is literal, not a pattern')
    t.equal(store.size, 2)
    t.equal(await store.remove('plan'), true)
    t.equal(await store.remove('plan'), false)
    t.equal(store.size, 1)
    await t.rejects(kernel.call(contextSet, { key: 'a\0b', value: '' }), { code: 'SES_CONTEXT_INVALID' })
    await t.rejects(kernel.call(contextSet, { key: 'a', value: '\ud800' }), { code: 'SES_CONTEXT_INVALID' })
    await kernel.close()
  })

  t.test(`${where}, a session is created, used, shown and reset`, async t => {
    const { kernel, chatLog } = await opened(withDatabase)
    const { session_id } = await kernel.call(sessionCreate, { agent_id: 7 })
    t.match(session_id, /^sess_[0-9a-f]+_[0-9a-f]+$/)
    await chatLog.append({ session_id, role: 'user', content: 'Hello\0 \ud800!', tokens: 2, context_files: ['a.ts'] })
    const answer = await chatLog.append({ session_id, role: 'assistant', content: 'Hi', model_used: 'm', tokens: 1 })
    t.match(await kernel.call(sessionInfo, { session_id }), { state: 'active', turns: 2, tokens: 3, agent_id: 7 })
    t.match((await kernel.call(sessionList, {})).sessions, [{ session_id, turns: 2 }])
    const { history } = await kernel.call(chatHistory, { session_id })
    t.match(history, [{ role: 'user', content: 'Hello\ufffd \ufffd!', context_files: ['a.ts'] }, { ...answer }])
    t.match(JSON.parse((await kernel.call(contextGet, { key: `chat_history:${session_id}` })).value), history)
    t.same(await kernel.call(sessionReset, { session_id }), { session_id, turns_cleared: 2 })
    t.same((await kernel.call(chatHistory, { session_id })).history, [])
    await t.rejects(kernel.call(sessionInfo, { session_id: 'nobody' }), { code: 'SES_SESSION_UNKNOWN' })
    await t.rejects(kernel.call(sessionReset, { session_id: 'nobody' }), { code: 'SES_SESSION_UNKNOWN' })
    await kernel.close()
  })

  t.test(`${where}, envelopes of a session are merged and included in prompts`, async t => {
    const { kernel, context } = await opened(withDatabase)
    const from = { source: 'McpSubmitTask', session_id: 's', repository_id: 'test' } as const
    const first = await context.ingest(JSON.stringify(envelope()), from)
    t.match(first, { outcome: 'initial_store', violations: [] })
    const merging = envelope({
      envelope_id: 'ctx-2',
      content: { summary_text: 'The lexer is done.', facts: [{ id: 'f', text: 'It has tests.' }] },
      conflict_policy: { merge_strategy: 'crdt_merge' }
    })
    const second = await context.ingest(JSON.stringify(merging), from)
    t.equal(second.outcome, 'crdt_merged')
    t.same(await context.envelope('s'), second.envelope)
    const text = await context.inject('s', 1000)
    t.match(text, /being rewritten\.\n---\nThe lexer is done\.\n- f: It has tests\./)
    t.ok(Buffer.byteLength(await context.inject('s', 20)) <= 80)
    t.equal(await context.inject('other', 1000), '')
    const stray = await context.ingest(JSON.stringify(envelope({ subject: { repository_id: 'other' } })), from)
    t.equal(stray.outcome, 'not_stored')
    t.match(stray.violations, [/^subject\.repository_id/])
    await t.rejects(context.ingest('{', from), { code: 'ORC_ENVELOPE_INVALID' })
    await kernel.close()
  })
}

t.test('a turn is stored in both transcript tables, with its journey, and in the session file', async t => {
  const { kernel, chatLog, rows } = await opened(true)
  await chatLog.append({ session_id: 'default', role: 'user', content: 'Why?', journey, turn_id: 'turn-1' })
  await chatLog.routed({
    journey_id: journey.journey_id,
    session_id: 'default',
    surface: 'svc_chat_message',
    model_id: 'm',
    reason: { complexity: 5 }
  })
  t.match(await rows('SELECT * FROM chat_transcripts'), [{ session_id: 'default', role: 'user', content: 'Why?' }])
  const [message] = await rows('SELECT * FROM conversation_messages')
  t.match(message, { content_text: 'Why?', external_turn_id: 'turn-1' })
  t.same(JSON.parse(String(message?.payload_json)), { journey })
  t.match(await rows('SELECT * FROM conversations'), [{ external_session_id: 'default', origin_surface: 'mcp' }])
  t.match(await rows('SELECT * FROM routing_decisions'), [
    { surface: 'svc_chat_message', reason_json: '{"complexity":5}' }
  ])
  t.match(await rows('SELECT * FROM agent_sessions'), [{ id: 'test:default', state: 'active' }])
  t.same(
    (await rows('SELECT event_type FROM agent_session_events ORDER BY id')).map(row => row.event_type),
    ['created', 'turn_added']
  )
  const folder = join(kernel.root, '.vox', 'sessions')
  t.same(readdirSync(folder), ['default.jsonl'])
  t.match(readFileSync(join(folder, 'default.jsonl'), 'utf8'), /"content":"Why\?"/)
  const invalid = chatLog.append({
    session_id: 'default',
    role: 'user',
    content: '',
    journey: { ...journey, journey_id: '' }
  })
  await t.rejects(invalid, { code: 'SES_JOURNEY_INVALID' })
  t.equal((await rows('SELECT * FROM chat_transcripts')).length, 1, 'rejected input is not stored')
  await kernel.close()
})

t.test('turns from before the database was attached are added to it, and files of other programs are read', async t => {
  let primary: PrimaryDatabase | undefined
  let chatLog: Transcripts | undefined
  const reader = definePlugin({
    name: 'reader',
    optional: { chatLog: transcripts, store: databaseStore },
    activate(_ctx, deps) {
      chatLog = deps.chatLog
      primary = deps.store
    }
  })
  const kernel = await testKernel([sessions, reader])
  await chatLog?.append({ session_id: 's', role: 'user', content: 'before' })
  await kernel.replace(database)
  await chatLog?.append({ session_id: 's', role: 'user', content: 'after' })
  await kernel.replace(reader)
  const { rows } = (await primary?.query('SELECT content FROM chat_transcripts ORDER BY id')) ?? { rows: [] }
  t.same(rows, [['before'], ['after']])
  const other = join(kernel.root, '.svc', 'sessions')
  mkdirSync(other, { recursive: true })
  const turn = { id: 'x', role: 'user', content: 'from elsewhere', timestamp: 1, context_files: [] }
  writeFileSync(join(other, 'sess_1_1.jsonl'), `${JSON.stringify({ event: 'turn_added', at: 5, turn })}\n{"event":"tu`)
  t.match((await kernel.call(chatHistory, { session_id: 'sess_1_1' })).history, [{ content: 'from elsewhere' }])
  t.ok((await kernel.call(sessionList, {})).sessions.some(({ session_id }) => session_id === 'sess_1_1'))
  await kernel.close()
})

t.test('a session can be read from its file or from its rows', async t => {
  const { kernel, chatLog } = await opened(true)
  await chatLog.append({ session_id: 'a', role: 'user', content: 'one' })
  await chatLog.append({ session_id: 'a', role: 'assistant', content: 'two' })
  writeFileSync(join(kernel.root, '.vox', 'sessions', 'a.jsonl'), '')
  await kernel.replace(sessions)
  const again = await kernel.call(chatHistory, { session_id: 'a' })
  t.same(
    again.history.map(({ content }) => content),
    ['one', 'two']
  )
  await kernel.close()
})
