import { once } from 'node:events'
import { connect } from 'node:net'
import { databaseStore, type HttpServer, httpServer, type PrimaryDatabase } from '@svc/contracts'
import http from '@svc/plugin-http'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import database from '#plugin'
import '../built-worker.ts'

async function openWorld(t: Test) {
  let server: { readonly current: HttpServer } | undefined
  let store: { readonly current: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), store: ref(databaseStore) },
    activate(_ctx, deps) {
      server = deps.server
      store = deps.store
    }
  })
  const kernel = await testKernel([http as Plugin, database as Plugin, probe as Plugin], {
    settings: { http: { port: 0, drain_ms: 2_000 } }
  })
  t.teardown(() => kernel.close())
  const url = (path: string) => `${server?.current.addresses[0]?.url}${path}`
  return {
    kernel,
    store: store!.current,
    url,
    get: async (path: string) => answer(await fetch(url(path))),
    post: async (path: string, body: object) =>
      answer(
        await fetch(url(path), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body)
        })
      )
  }
}

async function answer(response: Response): Promise<{ status: number; body: any }> {
  return { status: response.status, body: await response.json() }
}

t.test('returns a snapshot by query name', async t => {
  const { get, store } = await openWorld(t)
  t.match(await get('/api/codex/query/none'), { status: 404, body: { error: { code: 'DBP_CODEX_UNKNOWN' } } })
  await store.execute('INSERT INTO codex_query_snapshots (name, snapshot_json) VALUES (?, ?), (?, ?)', [
    'tasks of a',
    '{"rows":[1]}',
    'text',
    'no json'
  ])
  t.match(await get('/api/codex/query/tasks%20of%20a'), {
    status: 200,
    body: { name: 'tasks of a', snapshot: { rows: [1] }, updated_at: String }
  })
  t.equal((await get('/api/codex/query/text')).body.snapshot, 'no json')
})

t.test('stores research sessions, versions, edges and events, and rejects invalid ones', async t => {
  const { get, post, store } = await openWorld(t)
  const session = { session_key: 'k', title: 'T', config_json: { depth: 2 } }
  const first = await post('/api/codex/research-session', session)
  t.match(first, { status: 200, body: { id: 1, session_key: 'k', repository_id: null } })
  t.equal((await post('/api/codex/research-session', { session_key: 'k', status: 'done' })).body.id, 1)
  t.not((await post('/api/codex/research-session', { session_key: 'k', repository_id: 'r' })).body.id, 1)
  const kept = await store.query('SELECT title, status, config_json FROM codex_research_sessions WHERE id = 1')
  t.same(kept.rows[0], ['T', 'done', '{"depth":2}'])
  t.equal((await post('/api/codex/research-session', {})).status, 400)

  await store.execute("INSERT INTO conversations (title) VALUES ('a'), ('b')")
  const version = { version_index: 0, label: 'first', snapshot_json: { messages: [] } }
  const path = '/api/codex/conversations/1/versions'
  t.match(await post(path, version), {
    status: 200,
    body: { id: 1, conversation_id: 1, ...version, created_at: String }
  })
  t.match(await post(path, version), { status: 400, body: { error: { code: 'DBP_CODEX_REFUSED' } } })
  t.match(await post(path, {}), { status: 400 })
  t.match(await post('/api/codex/conversations/9/versions', version), {
    status: 404,
    body: { error: { code: 'DBP_CODEX_UNKNOWN' } }
  })
  t.equal((await post('/api/codex/conversations/x/versions', version)).status, 400)

  const edge = { from_conversation_id: 1, to_conversation_id: 2, metadata_json: { by: 'me' } }
  t.same(await post('/api/codex/conversation-edges', edge), { status: 200, body: { id: 1 } })
  t.equal((await store.query('SELECT edge_kind || weight FROM conversation_edges')).rows[0]?.[0], 'related1.0')
  t.match(await post('/api/codex/conversation-edges', { ...edge, to_conversation_id: 9 }), { status: 400 })

  await store.execute("INSERT INTO topics (slug, label) VALUES ('a', 'A')")
  const event = { event_kind: 'renamed', prior_label: 'A', new_label: 'B' }
  t.match(await post('/api/codex/topics/1/evolution-events', event), {
    status: 200,
    body: { id: 1, topic_id: 1, ...event, detail_json: null }
  })
  t.match(await post('/api/codex/topics/9/evolution-events', event), { status: 400 })
  const counts = { search_documents: 0, search_document_chunks: 0, search_indexing_jobs: 0 }
  t.same(await get('/api/search/status'), { status: 200, body: counts })
})

/** Reads `count` events from a stream. */
async function events(url: string, count: number, headers: Record<string, string> = {}): Promise<any[]> {
  const response = await fetch(url, { headers })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while ((text.match(/^data: /gm)?.length ?? 0) < count) text += (await reader.read()).value
  await reader.cancel()
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))
}

t.test('a client follows a topic from its last position, including changes by other processes', async t => {
  const { kernel, post, store, url } = await openWorld(t)
  const change = { change_kind: 'insert', entity_kind: 'task', entity_id: '7', payload: { done: false } }
  t.same(await post('/api/codex/mutate/tasks', change), { status: 200, body: { id: 1 } })
  await post('/api/codex/mutate/others', change)
  const stream = url('/api/codex/subscribe/tasks?after_id=0')
  t.match(await events(stream, 1), [{ id: 1, topic: 'tasks', ...change, created_at: String }])
  const following = events(stream, 3)
  await post('/api/codex/mutate/tasks', { change_kind: 'update' })
  await store.execute("INSERT INTO codex_change_log (topic, change_kind) VALUES ('tasks', 'delete')")
  t.same(
    (await following).map(({ id, change_kind }) => [id, change_kind]),
    [
      [1, 'insert'],
      [3, 'update'],
      [4, 'delete']
    ]
  )
  t.equal((await events(stream, 1, { 'last-event-id': '3' }))[0].id, 4)
  t.equal((await fetch(url('/api/codex/subscribe/tasks?after_id=x'))).status, 400)
  t.equal((await post('/api/codex/mutate/tasks', {})).status, 400)
  t.equal((await fetch(stream, { method: 'HEAD' })).status, 200)

  const many = Array.from({ length: 500 }, () => "('many', 'insert')").join(', ')
  await store.execute(`INSERT INTO codex_change_log (topic, change_kind) VALUES ${many}`)
  t.equal((await events(url('/api/codex/subscribe/many'), 500)).length, 500)

  const { hostname, port } = new URL(stream)
  const socket = connect(Number(port), hostname)
  socket.write('GET /api/codex/subscribe/tasks HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(socket, 'data')
  const ended = once(socket.resume(), 'close')
  await kernel.replace(definePlugin({ ...database }) as Plugin)
  socket.end()
  await ended
  t.pass('an open stream does not delay a reload')
})
