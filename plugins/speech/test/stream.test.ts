import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type RawData, WebSocket } from 'ws'
import { FIXTURES, fixtureJson } from './fixtures.ts'
import { openWorld, type World } from './world.ts'

const words = fixtureJson<{ cases: { text: string }[] }>('expected.json').cases.map(({ text }) => text.trim())
const pcm = readFileSync(join(FIXTURES, 'tones.wav')).subarray(44)

interface Message {
  readonly type: string
  readonly [field: string]: unknown
}

/** Client that reads messages one by one. */
class Client {
  readonly socket: WebSocket
  readonly #came: Message[] = []
  #wake = () => {}

  constructor(world: World) {
    this.socket = new WebSocket(world.url('/api/audio/transcribe/stream').replace('http:', 'ws:'))
    this.socket.on('message', (data: RawData) => {
      this.#came.push(JSON.parse(String(data)) as Message)
      this.#wake()
    })
  }

  async next(type?: string): Promise<Message> {
    for (;;) {
      const message = this.#came.shift()
      if (message !== undefined && (type === undefined || message.type === type)) return message
      if (message === undefined) await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  sendOp(op: string, fields: object = {}): void {
    this.socket.send(JSON.stringify({ op, ...fields }))
  }
}

t.test('speech is returned as text, in the selected language', async t => {
  const world = await openWorld({ stream_partial_quiet_ms: 60_000, stream_max_wait_ms: 60_000 })
  t.teardown(() => world.close())
  const client = new Client(world)
  const ready = await client.next()
  t.match(ready, { type: 'ready', correlation_id: String, sample_rate_hz: 16_000, input_format: 'pcm_s16le_mono' })
  client.sendOp('set_language', { language_hint: 'EN' })
  // Frames may end inside a sample.
  for (let at = 0; at < pcm.length; at += 9_999) client.socket.send(pcm.subarray(at, at + 9_999))
  client.sendOp('commit')
  const final = await client.next()
  t.match(final, { type: 'final', correlation_id: ready.correlation_id, confidence: 0.87 })
  t.ok(String(final.raw_text).startsWith(words[0]!))
  t.equal(final.text, final.refined_text)

  client.sendOp('commit')
  t.match(await client.next(), { type: 'final', text: '' }, 'a commit starts a new recording')

  client.socket.send(pcm)
  client.sendOp('cancel')
  t.match(await client.next(), { type: 'cancelled' })
  client.sendOp('commit')
  t.match(await client.next(), { type: 'final', text: '' }, 'cancelled audio is discarded')

  for (const text of ['what', '[]', '{"op":"sing"}']) {
    client.socket.send(text)
    t.match(await client.next(), { type: 'error', error: 'bad_message' })
  }
  client.socket.close()
})

t.test('partial texts arrive during speech, after a second of audio', async t => {
  const world = await openWorld({ language: 'en', stream_partial_quiet_ms: 50, heartbeat_ms: 100 })
  t.teardown(() => world.close())
  const client = new Client(world)
  await client.next('ready')
  client.socket.send(pcm.subarray(0, 16_000))
  await new Promise(resolve => setTimeout(resolve, 300))
  client.sendOp('cancel')
  t.equal((await client.next()).type, 'cancelled', 'half a second of audio gives no partial text')
  client.socket.send(pcm)
  t.match(await client.next(), { type: 'partial', text: new RegExp(`^${words[0]!}`), from_ms: 0 })
  client.socket.send(pcm)
  t.match(await client.next(), { type: 'partial' })
  client.sendOp('commit')
  t.match(await client.next('final'), { type: 'final' })
  client.socket.close()
})

t.test('audio without a commit is limited', async t => {
  const world = await openWorld({ stream_max_buffer_ms: 1_000 })
  t.teardown(() => world.close())
  const client = new Client(world)
  await client.next('ready')
  const closed = once(client.socket, 'close')
  client.socket.send(pcm)
  t.match(await client.next(), { type: 'error', error: 'buffer_overflow', message: /1000 ms/ })
  t.equal((await closed)[0], 1009)
})

t.test('a failure is reported, and the stream continues', async t => {
  const world = await openWorld({ model: 'openai/whisper-nowhere' })
  t.teardown(() => world.close())
  const client = new Client(world)
  await client.next('ready')
  client.socket.send(pcm)
  client.sendOp('commit')
  t.match(await client.next(), { type: 'error', error: 'transcribe_failed', message: /whisper-nowhere/ })
  client.sendOp('cancel')
  t.match(await client.next(), { type: 'cancelled' })
  client.socket.close()
})

t.test('clients are disconnected when the plugin is replaced, and silent ones at the time limit', async t => {
  const impatient = await openWorld({ heartbeat_ms: 50, capture_timeout_ms: 200 })
  t.teardown(() => impatient.close())
  const mute = new WebSocket(impatient.url('/api/audio/transcribe/stream').replace('http:', 'ws:'), { autoPong: false })
  t.equal((await once(mute, 'close'))[0], 1006)
  const world = await openWorld({ heartbeat_ms: 50 })
  t.teardown(() => world.close())
  const client = new Client(world)
  await client.next('ready')
  await once(client.socket, 'ping')
  const closed = once(client.socket, 'close')
  await world.reload()
  t.equal((await closed)[0], 1012)
  const next = new Client(world)
  t.equal((await next.next()).type, 'ready')
  next.socket.close()
})
