import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { FIXTURES, fixtureJson } from './fixtures.ts'
import { wavFile } from './wav-file.ts'
import { openWorld } from './world.ts'

const [case1] = fixtureJson<{ cases: { text: string }[] }>('expected.json').cases
const words = case1!.text.trim()
const recording = readFileSync(join(FIXTURES, 'tones.wav'))
const INGRESS = '.vox/tmp/audio_ingress'

t.test('the transcribe route for a path', async t => {
  const world = await openWorld({ language: 'en' })
  t.teardown(() => world.close())
  const ask = (body: unknown) => world.post('/api/audio/transcribe', body)

  t.test('returns the text of a recording', async t => {
    const { status, body } = await ask({ path: 'tones.wav', language_hint: 'EN' })
    t.equal(status, 200)
    t.ok(body.raw_text.startsWith(words), body.raw_text)
    t.equal(body.text, body.refined_text)
    t.same(Object.keys(body), ['correlation_id', 'path', 'raw_text', 'refined_text', 'text', 'confidence'])
    t.equal(body.path, 'tones.wav')
    t.equal(body.confidence, 0.87)
  })

  t.test('returns a text file unchanged', async t => {
    world.write('notes/a.md', '# Two  words\n')
    const { body } = await ask({ path: 'notes/a.md' })
    t.match(body, {
      raw_text: '# Two  words\n',
      refined_text: '# Two  words\n',
      text: '# Two  words\n',
      confidence: 0.99
    })
    t.equal((await ask({ path: join(world.workspace, 'notes/a.md') })).status, 200, 'an absolute path is accepted')
  })

  t.test('rejects a path that is missing or outside the workspace', async t => {
    symlinkSync(t.testdir({ 'outside.txt': 'secret' }), join(world.workspace, 'link'))
    symlinkSync(join(world.workspace, 'notes/a.md'), join(world.workspace, 'inside.md'))
    t.equal((await ask({ path: 'inside.md' })).status, 200, 'a link within the workspace is accepted')
    for (const path of ['missing.wav', 'notes', '', '.', 'no\0thing.txt', 'notes/a.md/b'])
      t.equal((await ask({ path })).status, path === '' || path === '.' ? 400 : 404, JSON.stringify(path))
    t.same(await ask({ path: 'missing.wav' }), { status: 404, body: { error: 'file_not_found', path: 'missing.wav' } })
    const outside = ['../x.txt', '/etc/passwd', 'link/outside.txt', `${world.workspace}-2/a.txt`, '/nowhere.txt']
    for (const path of outside)
      t.same(await ask({ path }), { status: 400, body: { error: 'path_outside_workspace', path } })
  })

  t.test('rejects an unreadable format with a reason', async t => {
    world.write('a.exe', 'x')
    world.write('b.wav', 'x')
    world.write('c.txt', Buffer.from([0xff, 0xfe, 0xff]))
    t.match(await ask({ path: 'a.exe' }), {
      status: 415,
      body: { error: 'unsupported_audio', message: /a\.exe.*\.wav/ }
    })
    t.match(await ask({ path: 'b.wav' }), {
      status: 400,
      body: { error: 'transcribe_failed', message: /b\.wav.*RIFF/ }
    })
    t.match(await ask({ path: 'c.txt' }), { status: 400, body: { error: 'transcribe_failed', message: /UTF-8/ } })
  })

  t.test('rejects a body that is not JSON with a path', async t => {
    for (const body of ['', '{', '[]', '7', 'null', '{"path":1}', '{}', '"tones.wav"'])
      t.match(await ask(body), { status: 400, body: { error: 'bad_request', message: String } }, body)
  })
})

t.test('the upload route', async t => {
  const world = await openWorld({ language: 'en' })
  t.teardown(() => world.close())
  const left = () => readdirSync(join(world.workspace, INGRESS))

  t.test('returns the text, and leaves no files', async t => {
    const { status, body } = await world.upload(
      ['other', 'ignored'],
      ['language_hint', 'en'],
      ['audio', recording, 'My Recording.WAV']
    )
    t.equal(status, 200)
    t.ok(body.raw_text.startsWith(words))
    t.match(body.path, /^\.vox\/tmp\/audio_ingress\/[\da-f-]{36}\.wav$/)
    t.same(left(), [])
  })

  t.test('accepts parts in any order and under either name, and uses the first non-empty one', async t => {
    const made = await world.upload(['audio', '', 'a.txt'], ['file', 'hello', 'b.txt'], ['audio', 'later', 'c.md'])
    t.match(made, { status: 200, body: { raw_text: 'hello', path: /\.txt$/ } })
    const german = await world.upload(['file', recording, 'blob'], ['language_hint', 'de'])
    t.equal(german.status, 200, 'a file without an extension is read as WAV')
    const english = await world.upload(['file', recording, '../../x.w/av'], ['language_hint', 'en'])
    t.equal(english.status, 200, 'a file name is never used as a path')
    t.not(german.body.raw_text, english.body.raw_text)
    const long = 'many words '.repeat(1_000_000)
    t.ok((await world.upload(['audio', long, 'long.txt'])).body.text === long, 'an upload of 11 MB arrives completely')
    t.same(left(), [])
  })

  t.test('rejects an upload without a recording', async t => {
    t.match(await world.upload(['note', 'x']), { status: 400, body: { error: 'missing_audio_field', hint: String } })
    t.match(await world.upload(['audio', '', 'a.wav']), { status: 400, body: { error: 'missing_audio_field' } })
    t.match(await world.post('/api/audio/transcribe/upload', {}), {
      status: 400,
      body: { error: 'multipart_read_failed', message: String }
    })
    const cut = await fetch(world.url('/api/audio/transcribe/upload'), {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: '--x\r\ncontent-disposition: form-data; name="audio"; filename="a.txt"\r\n\r\nhal'
    })
    t.match(await cut.json(), { error: 'multipart_read_failed' })
    t.equal(cut.status, 400)
    t.match(await world.upload(['audio', 'no sound', 'a.wav']), { status: 400, body: { error: 'transcribe_failed' } })
    t.match(await world.upload(['audio', 'x', 'a.exe']), { status: 415, body: { error: 'unsupported_audio' } })
    t.same(left(), [])
  })

  t.test('rejects an upload that is too large, even without a content length', async t => {
    const large = Buffer.alloc(33 * 1024 * 1024)
    t.match(await world.upload(['audio', large, 'a.wav']), { status: 413, body: { error: 'body_too_large' } })
    const head = '--x\r\ncontent-disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
    const pieces = async function* () {
      yield Buffer.from(head)
      for (let at = 0; at < 33; at++) yield large.subarray(0, 1024 * 1024)
    }
    const response = await fetch(world.url('/api/audio/transcribe/upload'), {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: ReadableStream.from(pieces()) as ReadableStream<Uint8Array>,
      duplex: 'half'
    } as RequestInit)
    t.equal(response.status, 413)
    t.same(left(), [])
  })

  t.test('leaves no files if the client disconnects', async t => {
    const { hostname, port } = new URL(world.url('/'))
    const socket = connect(Number(port), hostname)
    socket.write(
      'POST /api/audio/transcribe/upload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n' +
        'content-type: multipart/form-data; boundary=x\r\n\r\n' +
        '--x\r\ncontent-disposition: form-data; name="audio"; filename="a.wav"\r\n\r\nsome'
    )
    while (left().length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    socket.destroy()
    while (left().length > 0) await new Promise(resolve => setTimeout(resolve, 5))
    t.pass('the file is removed')
  })
})

t.test('a stalled upload is aborted', async t => {
  const world = await openWorld({ capture_timeout_ms: 100 })
  t.teardown(() => world.close())
  const { hostname, port } = new URL(world.url('/'))
  const socket = connect(Number(port), hostname)
  socket.write(
    'POST /api/audio/transcribe/upload HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\nconnection: close\r\n' +
      'content-type: multipart/form-data; boundary=x\r\n\r\n--x\r\n'
  )
  const answer = await new Promise<string>(resolve => socket.once('data', bytes => resolve(String(bytes))))
  t.match(answer, /^HTTP\/1\.1 504 /)
  t.match(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))), { error: 'capture_timeout', deadline_ms: 100 })
  socket.destroy()
})

t.test('a recording that takes too long is aborted, with the name of the deadline', async t => {
  const long = wavFile([Float32Array.from({ length: 16_000 * 100 }, (_, at) => 0.5 * Math.sin(at / 9))])
  for (const [settings, outcome] of [
    [{ inference_deadline_ms: 1 }, 'inference_timeout'],
    [{ max_duration_ms: 100, inference_deadline_ms: 5_000 }, 'deadline_exceeded'],
    [{ max_duration_ms: 100 }, 'deadline_exceeded']
  ] as const) {
    const world = await openWorld(settings)
    world.write('long.wav', long)
    t.match(await world.post('/api/audio/transcribe', { path: 'long.wav' }), {
      status: 504,
      body: { error: outcome, message: new RegExp(outcome), deadline_ms: Object.values(settings)[0] }
    })
    await world.close()
  }
})

t.test('without a model, the status reports it and recordings fail with the missing files', async t => {
  const world = await openWorld({ model: 'openai/whisper-nowhere' })
  t.teardown(() => world.close())
  const status = (await (await fetch(world.url('/api/audio/status'))).json()) as Record<string, unknown>
  t.match(status, { ok: true, status: 'no_model', summary: /no_model.*whisper-nowhere.*config\.json/ })
  t.match(await world.post('/api/audio/transcribe', { path: 'tones.wav' }), {
    status: 503,
    body: { error: 'no_model', message: /SVC_ORATIO_MODEL/, missing: ['config.json'] }
  })
  world.write('a.txt', 'text needs no model')
  t.equal((await world.post('/api/audio/transcribe', { path: 'a.txt' })).status, 200)
  await t.rejects(world.recogniser.transcribe({ kind: 'samples', samples: new Float32Array(9) }), {
    code: 'SPC_NO_MODEL'
  })
})

t.test('recordings fail if the recogniser is not available', async t => {
  const world = await openWorld({ backend: 'sherpa' })
  t.teardown(() => world.close())
  t.match(await world.post('/api/audio/transcribe', { path: 'tones.wav' }), {
    status: 503,
    body: { error: 'backend_unavailable', message: /sherpa.*SVC_ORATIO_BACKEND/ }
  })
  t.match(await world.recogniser.state(), { status: 'unavailable' })
})

t.test('the status reports the model and the settings', async t => {
  const world = await openWorld({ max_duration_ms: 5_000, cuda: true })
  t.teardown(() => world.close())
  const read = async () => (await fetch(world.url('/api/audio/status'))).json()
  t.match(await read(), {
    ok: true,
    status: 'ready',
    candle: {
      backend: 'whisper-onnx',
      model_env: 'SVC_ORATIO_MODEL',
      multilingual: true,
      cuda_requested_via_env: true,
      inference_note: /no recording/
    },
    runtime: {
      session_timing: {
        capture_timeout_ms: 12_000,
        max_duration_ms: 5_000,
        inference_deadline_ms: 0,
        heartbeat_ms: 3_000
      },
      refine: { balanced_base: 0.87 },
      routing: { tool_min_confidence: 0.55 },
      hf: { retry_attempts: 3, retry_delay_ms: 600 },
      llm: { refinement_default: false, min_confidence: 0.82, max_output_tokens: 512 },
      logit: { bias_strength: 0.8, bias_max_tokens: 256 }
    }
  })
  await world.post('/api/audio/transcribe', { path: 'tones.wav' })
  t.match(await read(), { candle: { inference_note: /on cpu/ } }, 'without a GPU, the CPU is used')
})
