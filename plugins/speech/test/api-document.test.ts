import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { parse } from 'yaml'
import '../../database/test/built-worker.ts'
import { FIXTURES } from './fixtures.ts'
import { openWorld, type World } from './world.ts'

const FILE = join(import.meta.dirname, '../../../contracts/codex-api.openapi.yaml')
const text = readFileSync(FILE, 'utf8')

interface Document {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Record<string, object> }>>>>
}

const document = parse(text) as Document
const ajv = new Ajv.default({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema(document as object, 'api')

/** Mismatches between a value and the document; empty if there are none. */
function complaints(pointer: string, value: unknown): readonly string[] {
  const escaped = pointer.replaceAll('{', '%7B').replaceAll('}', '%7D')
  const validate = ajv.compile({ $ref: `api#${escaped}` })
  return validate(value) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

const pointerOf = (...names: readonly (string | number)[]) =>
  names.map(name => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** Returns the pointer to the schema of a response, which several routes may share. */
function schemaOf(path: string, method: string, status: number): string {
  const response = document.paths[path]?.[method]?.responses[status] as { readonly $ref?: string } | undefined
  if (response === undefined) throw new Error(`${method} ${path} does not document ${status}`)
  const start = response.$ref?.slice(1) ?? pointerOf('paths', path, method, 'responses', status)
  return `${start}${pointerOf('content', 'application/json', 'schema')}`
}

t.test('the document is valid OpenAPI 3.0.3, and matches the contract', async t => {
  const { valid, errors } = await new Validator().validate(text)
  t.ok(valid, JSON.stringify(errors))
  const wrong = { error: 'file_not_found', path: 7, more: true }
  t.equal(complaints('/components/schemas/FileNotFound', wrong).length, 2, 'the validation reports a mismatch')
  t.match(document, { openapi: '3.0.3', info: { version: '1.0.0' }, servers: [{ url: 'http://127.0.0.1:3847' }] })
})

interface Ask {
  readonly method: string
  /** Path in the document. */
  readonly path: string
  readonly status: number
  /** Path of the request, if it differs from `path`. */
  readonly url?: string
  readonly json?: unknown
  readonly upload?: readonly [name: string, content: string | Uint8Array, filename: string]
  readonly raw?: { readonly type: string; readonly body: string }
}

const wav = readFileSync(join(FIXTURES, 'tones.wav'))
const TRANSCRIBE = '/api/audio/transcribe'
const UPLOAD = '/api/audio/transcribe/upload'
const VERSIONS = '/api/codex/conversations/{id}/versions'
const EDGES = '/api/codex/conversation-edges'
const TOPICS = '/api/codex/topics/{id}/evolution-events'
const get = (path: string, status: number, url?: string): Ask => ({ method: 'get', path, status, ...(url && { url }) })
const post = (path: string, status: number, json: unknown, url?: string): Ask => ({
  method: 'post',
  path,
  status,
  json,
  ...(url && { url })
})
const upload = (status: number, name: string, content: string | Uint8Array, filename: string): Ask => ({
  method: 'post',
  path: UPLOAD,
  status,
  upload: [name, content, filename]
})

const USUAL: readonly Ask[] = [
  get('/ready', 200),
  get('/health', 200),
  get('/api/audio/status', 200),
  post(TRANSCRIBE, 200, { path: 'tones.wav', language_hint: 'en' }),
  post(TRANSCRIBE, 200, { path: 'note.txt' }),
  post(TRANSCRIBE, 400, { path: '../a.wav' }),
  post(TRANSCRIBE, 400, {}),
  post(TRANSCRIBE, 400, { path: 'broken.wav' }),
  post(TRANSCRIBE, 404, { path: 'none.wav' }),
  post(TRANSCRIBE, 413, { path: 'x'.repeat(70_000) }),
  post(TRANSCRIBE, 415, { path: 'program.exe' }),
  upload(200, 'audio', wav, 'a.wav'),
  upload(200, 'file', 'text', 'a.md'),
  upload(400, 'note', 'x', 'a.wav'),
  upload(400, 'audio', 'x', 'a.wav'),
  { method: 'post', path: UPLOAD, status: 400, raw: { type: 'text/plain', body: 'x' } },
  upload(413, 'audio', Buffer.alloc(33 * 1024 * 1024), 'a.wav'),
  upload(415, 'audio', 'x', 'a.exe'),
  get('/api/audio/transcribe/stream', 404),
  get('/api/codex/query/{name}', 200, '/api/codex/query/all'),
  get('/api/codex/query/{name}', 404, '/api/codex/query/none'),
  post('/api/codex/mutate/{name}', 200, { change_kind: 'insert', payload: [1] }, '/api/codex/mutate/tasks'),
  post('/api/codex/mutate/{name}', 400, {}, '/api/codex/mutate/tasks'),
  get('/api/codex/subscribe/{topic}', 400, '/api/codex/subscribe/tasks?after_id=-1'),
  get('/api/search/status', 200),
  post('/api/codex/research-session', 200, { session_key: 'a', config_json: {} }),
  post('/api/codex/research-session', 400, { session_key: '' }),
  post(VERSIONS, 200, { version_index: 1, snapshot_json: {} }, '/api/codex/conversations/1/versions'),
  post(VERSIONS, 400, { version_index: 1 }, '/api/codex/conversations/1/versions'),
  post(VERSIONS, 404, { version_index: 1 }, '/api/codex/conversations/7/versions'),
  post(EDGES, 200, { from_conversation_id: 1, to_conversation_id: 1, weight: 0.5 }),
  post(EDGES, 400, { from_conversation_id: 1, to_conversation_id: 7 }),
  post(TOPICS, 200, { event_kind: 'split', detail_json: { into: 2 } }, '/api/codex/topics/1/evolution-events'),
  post(TOPICS, 400, { event_kind: 'split' }, '/api/codex/topics/7/evolution-events')
]

/** Responses that need other settings or a fault. */
const UNUSUAL: readonly { readonly settings: object; readonly asks: readonly Ask[]; prepare?(world: World): void }[] = [
  {
    settings: { model: 'openai/whisper-nowhere' },
    asks: [
      post(TRANSCRIBE, 503, { path: 'tones.wav' }),
      upload(503, 'audio', wav, 'a.wav'),
      get('/api/audio/status', 200)
    ]
  },
  { settings: { backend: 'sherpa' }, asks: [post(TRANSCRIBE, 503, { path: 'tones.wav' })] },
  {
    settings: { inference_deadline_ms: 1 },
    asks: [post(TRANSCRIBE, 504, { path: 'tones.wav' }), upload(504, 'audio', wav, 'a.wav')]
  },
  {
    settings: {},
    asks: [upload(500, 'audio', wav, 'a.wav')],
    prepare: world => writeFileSync(join(world.workspace, '.vox'), 'in the way')
  }
]

const seen = new Set<string>()

async function drive(t: Test, world: World, asks: readonly Ask[]): Promise<void> {
  for (const { method, path, status, url = path, json, upload, raw } of asks) {
    const label = `${method} ${path} ${status}`
    const form = new FormData()
    if (upload !== undefined) form.append(upload[0], new Blob([upload[1] as Uint8Array<ArrayBuffer>]), upload[2])
    const sent =
      upload !== undefined
        ? { body: form }
        : json !== undefined
          ? { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
          : raw !== undefined
            ? { body: raw.body, headers: { 'content-type': raw.type } }
            : {}
    const response = await fetch(world.url(url), { method: method.toUpperCase(), ...sent })
    const body: unknown = await response.json()
    t.equal(response.status, status, `${label} ${JSON.stringify(body).slice(0, 200)}`)
    t.same(complaints(schemaOf(path, method, response.status), body), [], label)
    seen.add(label)
  }
}

t.test('every route returns documented responses', async t => {
  let store: { readonly current: PrimaryDatabase } | undefined
  const probe = definePlugin({
    name: 'filler',
    requires: { store: ref(databaseStore) },
    activate(_ctx, deps) {
      store = deps.store
    }
  }) as Plugin
  const world = await openWorld({ language: 'en' }, [database as Plugin, probe])
  t.teardown(() => world.close())
  world.write('note.txt', 'hello')
  world.write('broken.wav', 'x')
  world.write('program.exe', 'x')
  const { current } = store as { readonly current: PrimaryDatabase }
  await current.execute("INSERT INTO codex_query_snapshots (name, snapshot_json) VALUES ('all', '[]')")
  await current.execute("INSERT INTO conversations (title) VALUES ('a')")
  await current.execute("INSERT INTO topics (slug, label) VALUES ('a', 'A')")
  await drive(t, world, USUAL)
  await stream(t, world)
  await subscribe(t, world)
  await current.execute("UPDATE schema_manifest SET digest = '0x00'")
  await drive(t, world, [get('/ready', 503)])
  for (const { settings, asks, prepare } of UNUSUAL) {
    const other = await openWorld({ language: 'en', ...settings })
    prepare?.(other)
    await drive(t, other, asks)
    await other.close()
  }
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.keys(responses).map(status => `${method} ${path} ${status}`)
    )
  )
  t.same([...seen].sort(), documented.sort(), 'every documented response occurs')
})

async function stream(t: Test, world: World): Promise<void> {
  const socket = new WebSocket(world.url('/api/audio/transcribe/stream').replace('http:', 'ws:'))
  const types = new Set<string>()
  await new Promise<void>(resolve => {
    socket.on('message', data => {
      const message = JSON.parse(String(data)) as { readonly type: string }
      t.same(complaints('/components/schemas/StreamMessage', message), [], message.type)
      types.add(message.type)
      if (message.type === 'ready') {
        socket.send(wav.subarray(44))
      } else if (message.type === 'partial') {
        socket.send('{"op":"sing"}')
        socket.send('{"op":"commit"}')
      } else if (message.type === 'final') socket.send('{"op":"cancel"}')
      else if (message.type === 'cancelled') resolve()
    })
  })
  socket.close()
  t.same([...types].sort(), ['cancelled', 'error', 'final', 'partial', 'ready'])
  seen.add('get /api/audio/transcribe/stream 101')
}

async function subscribe(t: Test, world: World): Promise<void> {
  const response = await fetch(world.url('/api/codex/subscribe/tasks?after_id=0'))
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  let got = ''
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  while (!/^data: .*\n\n/m.test(got)) got += Buffer.from((await reader.read()).value ?? []).toString()
  await reader.cancel()
  t.match(got, /^event: change$/m)
  t.same(complaints('/components/schemas/Change', JSON.parse(/^data: (.*)$/m.exec(got)?.[1] ?? '')), [])
  seen.add('get /api/codex/subscribe/{topic} 200')
}
