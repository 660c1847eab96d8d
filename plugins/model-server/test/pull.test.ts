import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Catalogue } from '#catalogue'
import { hubsOf, Progress, type PullEvent, Puller, type PullerOptions, parseSource } from '#pull'
import { answer, dropAfter, type Fault, type Hub, hangAfter, openHub, send } from './model-hub.ts'
import { until } from './until.ts'

const WEIGHTS = randomBytes(300_000)

interface Opened {
  readonly hub: Hub
  readonly folder: string
  readonly catalogue: Catalogue
  readonly events: PullEvent[]
  /** Returns a check that the partial file of the weights has this many bytes. */
  has(bytes: number): () => boolean
  /** Returns the path of the partial file. */
  partial(): string
  pull(from: string, options?: { as?: string; signal?: AbortSignal }): ReturnType<Puller['pull']>
}

async function openPuller(t: Test, options: Partial<PullerOptions> & { token?: string } = {}): Promise<Opened> {
  const root = t.testdir({})
  const hub = await openHub(t)
  hub.files.set('config.json', Buffer.from('{"model_type": "llama"}'))
  hub.files.set('tokenizer.json', Buffer.from('{}'))
  hub.files.set('model.safetensors', WEIGHTS)
  hub.files.set('README.md', Buffer.from('not needed'))
  hub.files.set('consolidated.safetensors', Buffer.from('the same in another form'))
  hub.files.set('../evil.safetensors', Buffer.from('outside'))
  const folder = join(root, 'models')
  const catalogue = new Catalogue(join(root, 'models.json'), {}, root, () => undefined)
  const puller = new Puller({
    folder,
    projectRoot: root,
    catalogue,
    hubs: () => ({ huggingFace: hub.url, huggingFaceToken: options.token, ollama: hub.url }),
    attempts: 3,
    delayMs: 1,
    stallMs: 60_000,
    unfinishedDays: () => 30,
    ...options
  })
  const events: PullEvent[] = []
  const pull: Opened['pull'] = (from, { as, signal = new AbortController().signal } = {}) =>
    puller.pull({ from, as, signal, onEvent: event => void events.push(event) })
  const partial = () => {
    const unfinished = join(folder, '.unfinished')
    const entries = existsSync(unfinished) ? readdirSync(unfinished, { withFileTypes: true }) : []
    const found = entries.find(entry => entry.isDirectory())?.name
    const files = found === undefined ? [] : readdirSync(join(unfinished, found))
    return join(unfinished, found ?? '', files.find(name => name.endsWith('.partial')) ?? 'none')
  }
  const has = (bytes: number) => () => existsSync(partial()) && statSync(partial()).size === bytes
  return { hub, folder, catalogue, events, has, partial, pull }
}

const rangesOf = (hub: Hub, name: string) =>
  hub.requests.filter(({ path }) => path.endsWith(name)).map(({ range }) => range)

t.test('pulls the run directory of a Hugging Face repository, checks it, and adds it to the catalogue', async t => {
  const { pull, catalogue, events, folder, hub } = await openPuller(t)
  const pulled = await pull('hf.co/org/model')
  t.match(pulled, { name: 'hf.co/org/model', bytes: WEIGHTS.length, changed: true })
  t.same(readFileSync(join(pulled.path, 'model.safetensors')), WEIGHTS)
  t.same(readdirSync(pulled.path).sort(), ['.svc-pull.json', 'config.json', 'model.safetensors', 'tokenizer.json'])
  t.match(catalogue.find('hf.co/org/model'), { source: 'pulled', path: pulled.path, from: 'hf.co/org/model' })
  t.same(readdirSync(folder).length, 2, 'one model, and the folder of unfinished ones')
  t.match(events.at(-1), { status: 'done', completed: WEIGHTS.length + 25, total: WEIGHTS.length + 25 })
  t.ok(events.some(({ status, file }) => status === 'downloading' && file === 'model.safetensors'))
  const before = hub.requests.length
  t.match(await pull('hf.co/org/model'), { changed: false, path: pulled.path })
  t.equal(hub.requests.length, before, 'a current model is not downloaded again')
  hub.files.set('config.json', Buffer.from('{"model_type": "qwen2"}'))
  t.match(await pull('hf.co/org/model'), { changed: true, path: pulled.path })
  t.equal(hub.requests.length, before + 1, 'only the changed file is downloaded')
  t.match(readFileSync(join(pulled.path, 'config.json'), 'utf8'), /qwen2/)
})

t.test('pulls a GGUF file by its quantisation, all parts of a set, and a model of the Ollama registry', async t => {
  const { pull, hub } = await openPuller(t)
  hub.files.delete('model.safetensors')
  hub.files.set('model-Q8_0.gguf', Buffer.from('q8'))
  hub.files.set('model-Q4_0-00002-of-00002.gguf', Buffer.from('second'))
  hub.files.set('model-Q4_0-00001-of-00002.gguf', Buffer.from('first'))
  hub.files.set('mmproj-Q4_0.gguf', Buffer.from('images'))
  const { path, bytes } = await pull('org/model:q4_0')
  t.match(path, /org--model@q4_0-[0-9a-f]{8}\/model-Q4_0-00001-of-00002\.gguf$/)
  t.equal(bytes, 11)
  t.match(await pull('org/model', { as: 'mine' }), { name: 'mine', path: /Q4_0-00001/ }, 'Q4_0 is preferred to Q8_0')
  await t.rejects(pull('org/model:Q2_K'), {
    code: 'MSV_PULL_NOT_FOUND',
    message: /no GGUF file of 'Q2_K'/,
    hint: /Q8_0/
  })
  hub.layer = Buffer.from('GGUF layer')
  const tiny = await pull('tiny')
  t.equal(readFileSync(tiny.path, 'utf8'), 'GGUF layer')
  t.match(tiny, { name: 'tiny', path: /model\.gguf$/ })
  await t.rejects(pull('other'), { code: 'MSV_PULL_NOT_FOUND' })
  await t.rejects(pull('org/none'), { code: 'MSV_PULL_NOT_FOUND' })
})

t.test('continues after dropped connections and busy answers, from the byte where it stopped', async t => {
  const { pull, hub, has } = await openPuller(t, { attempts: 4 })
  const busy = [answer(429, { 'retry-after': '0' }), answer(503)]
  hub.faults.push(null, null, dropAfter(100_000, has(100_000)), ...busy, dropAfter(50_000, has(150_000)))
  const { path } = await pull('org/model')
  t.same(readFileSync(join(path, 'model.safetensors')), WEIGHTS)
  const [first, second] = ['bytes=100000-', 'bytes=150000-']
  t.same(rangesOf(hub, 'model.safetensors'), [undefined, first, first, first, second])
})

t.test('an aborted pull keeps what it has, is not in the catalogue, and a later one continues it', async t => {
  const { pull, hub, catalogue, has, partial } = await openPuller(t)
  const controller = new AbortController()
  hub.faults.push(null, null, hangAfter(100_000))
  const pulling = pull('org/model', { signal: controller.signal })
  await until(has(100_000))
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_RUNNING' }, 'one process pulls a model at a time')
  controller.abort(new Error('Ctrl-C'))
  await t.rejects(pulling, { message: 'Ctrl-C' })
  t.equal(catalogue.find('org/model'), undefined)
  t.equal(readFileSync(partial()).length, 100_000)
  const { path } = await pull('org/model')
  t.same(readFileSync(join(path, 'model.safetensors')), WEIGHTS)
  t.same(rangesOf(hub, 'model.safetensors'), [undefined, 'bytes=100000-'])
  t.same(rangesOf(hub, 'config.json').length, 1, 'finished files are kept, too')
})

t.test('a partial file of another version, or one that is damaged, is downloaded from the beginning', async t => {
  const { pull, hub, has, partial } = await openPuller(t, { attempts: 1 })
  hub.faults.push(null, null, dropAfter(100_000, has(100_000)))
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_FAILED', message: /connection|terminated/ })
  const other = randomBytes(200_000)
  hub.files.set('model.safetensors', other)
  t.same(readFileSync(join((await pull('org/model')).path, 'model.safetensors')), other)
  t.same(rangesOf(hub, 'model.safetensors'), [undefined, undefined])
  hub.faults.push(null, null, dropAfter(100_000, has(100_000)))
  await t.rejects(pull('org/model', { as: 'b' }), { code: 'MSV_PULL_FAILED' })
  writeFileSync(partial(), 'damaged')
  t.same(readFileSync(join((await pull('org/model', { as: 'b' })).path, 'model.safetensors')), other)
  t.same(rangesOf(hub, 'model.safetensors').slice(-2), ['bytes=7-', undefined])
})

t.test('a wrong checksum, too many bytes, and a lost file fail with their own errors and leave no model', async t => {
  const { pull, hub, catalogue } = await openPuller(t, { attempts: 2 })
  const swapped = (_: unknown, response: Parameters<typeof send>[0]) => {
    send(response, Buffer.alloc(WEIGHTS.length, 1), undefined)
    return true
  }
  hub.faults.push(null, null, swapped)
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_CHECKSUM', message: /model\.safetensors .* is damaged/ })
  hub.faults.push((_, response) => {
    response.writeHead(200).end(Buffer.concat([WEIGHTS, WEIGHTS]))
    return true
  })
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_FAILED', message: /sent more than the 300000 bytes/ })
  hub.faults.push(answer(404))
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_NOT_FOUND' })
  hub.faults.push(answer(403))
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_NOT_FOUND', hint: /HF_TOKEN/ })
  hub.faults.push(answer(500), answer(500))
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_FAILED', message: /HTTP status 500, in 2 attempts/ })
  t.equal(catalogue.find('org/model'), undefined)
  t.equal((await pull('org/model')).changed, true)
})

t.test(
  '416 for a file of known size begins again; for one of unknown size it may mean that the file is complete',
  async t => {
    const { pull, hub, has } = await openPuller(t)
    hub.faults.push(null, null, dropAfter(100_000, has(100_000)), answer(416))
    t.same(readFileSync(join((await pull('org/model')).path, 'model.safetensors')), WEIGHTS)
    hub.files.set('a.gguf', WEIGHTS)
    hub.faults.push((_, response) => {
      response.writeHead(200, { etag: '"x"' })
      response.write(WEIGHTS)
      return true
    })
    const controller = new AbortController()
    const { href } = new URL('/cdn/a.gguf', hub.url)
    const first = pull(href, { signal: controller.signal })
    await until(has(WEIGHTS.length))
    controller.abort(new Error('gone'))
    await t.rejects(first, { message: 'gone' })
    t.same(readFileSync((await pull(href)).path), WEIGHTS)
    t.same(rangesOf(hub, 'a.gguf'), [undefined, 'bytes=300000-'])
  }
)

t.test('a connection without data is replaced', async t => {
  const { pull, hub } = await openPuller(t, { stallMs: 400, attempts: 20 })
  hub.faults.push(null, null, hangAfter(100_000))
  t.same(readFileSync(join((await pull('org/model')).path, 'model.safetensors')), WEIGHTS)
  t.ok(rangesOf(hub, 'model.safetensors').length > 1)
})

t.test('the token goes to its own host only, and redirects are limited', async t => {
  const { pull, hub } = await openPuller(t, { token: 'secret-token', attempts: 1 })
  const cdn = await openHub(t)
  for (const [name, content] of hub.files) cdn.files.set(name, content)
  hub.redirect = cdn.url
  t.equal((await pull('org/model')).changed, true)
  t.ok(hub.requests.every(({ auth }) => auth === 'Bearer secret-token'))
  t.equal(cdn.requests.length, 3)
  t.ok(cdn.requests.every(({ auth }) => auth === undefined))
  const url = new URL('/cdn/a.gguf', cdn.url)
  cdn.files.set('a.gguf', WEIGHTS)
  cdn.faults.push(...Array.from({ length: 6 }, () => answer(302, { location: url.href })))
  await t.rejects(pull(url.href), { code: 'MSV_PULL_FAILED', message: /redirects more than 5 times/ })
  cdn.faults.push(answer(302, { location: 'http://example.com/a.gguf' }))
  await t.rejects(pull(url.href), { code: 'MSV_PULL_FAILED', message: /http:\/\/example\.com, which is not https/ })
})

t.test('repairs a file of a pulled model that was removed or shortened', async t => {
  const { pull } = await openPuller(t)
  const { path } = await pull('org/model')
  const weights = join(path, 'model.safetensors')
  for (const spoil of [() => rmSync(weights), () => writeFileSync(weights, 'short')]) {
    spoil()
    t.match(await pull('org/model'), { changed: true })
    t.same(readFileSync(weights), WEIGHTS)
  }
})

t.test('files that have not changed need no space on the disk', async t => {
  const { pull, hub, folder } = await openPuller(t)
  const { path } = await pull('org/model')
  const { bavail, bsize } = statfsSync(folder)
  const huge = bavail * bsize + 2 ** 30
  // A file with a hole: larger than the disk.
  truncateSync(join(path, 'model.safetensors'), huge)
  const record = join(path, '.svc-pull.json')
  writeFileSync(record, readFileSync(record, 'utf8').replace(String(WEIGHTS.length), String(huge)))
  hub.sizes.set('model.safetensors', huge)
  hub.files.set('config.json', Buffer.from('{"model_type": "qwen2"}'))
  t.match(await pull('org/model'), { changed: true, bytes: huge })
  t.equal(rangesOf(hub, 'model.safetensors').length, 1)
})

t.test('a server that always begins again and breaks off is given up', async t => {
  const { pull, hub, partial, has } = await openPuller(t, { attempts: 3 })
  const again =
    (bytes: number): Fault =>
    (_, response, content) => {
      response.writeHead(200, { 'content-length': content.length })
      response.write(content.subarray(0, bytes))
      const timer = setInterval(() => {
        if (!has(bytes)()) return
        clearInterval(timer)
        response.destroy()
      }, 5)
      return true
    }
  const sizes = [200_000, 100_000, 150_000, 120_000, 160_000, 110_000, 170_000]
  hub.faults.push(null, null, ...sizes.map(again))
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_FAILED', message: /in 3 attempts/ })
  t.equal(readFileSync(partial()).length, 150_000)
})

t.test('a chosen name replaces one that the source cannot give', async t => {
  const { pull, hub, catalogue, folder } = await openPuller(t)
  hub.files.set('my model.gguf', WEIGHTS)
  const { href } = new URL('/cdn/my%20model.gguf?signature=secret', hub.url)
  await t.rejects(pull(href), { code: 'MSV_PULL_NAME', message: /^(?!.*secret).*choose one with --as/ })
  const { path } = await pull(href, { as: 'mine' })
  t.same(readFileSync(path), WEIGHTS)
  t.equal(catalogue.find('mine')?.from, href.replace(/\?.*/, ''), 'the query may hold a signature')
  mkdirSync(join(folder, '..', 'my run'))
  writeFileSync(join(folder, '..', 'my run', 'model.safetensors'), 'x')
  t.match(await pull('./my run', { as: 'run' }), { name: 'run', bytes: 1 })
  await t.rejects(pull(new URL('/cdn/%zz.gguf', hub.url).href, { as: 'bad' }), { code: 'MSV_PULL_FAILED' })
})

t.test('a disk that is too small is reported with what is missing, before anything is downloaded', async t => {
  const { pull, hub } = await openPuller(t)
  const huge = 2 ** 52
  const layers = [{ mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${'a'.repeat(64)}`, size: huge }]
  hub.manifest = { layers }
  await t.rejects(pull('tiny'), { code: 'MSV_PULL_SPACE', message: /needs 4503599\.6 GB more .* are missing/ })
  t.same(hub.requests, [])
})

t.test('a manifest with very many layers is refused', async t => {
  const { pull, hub } = await openPuller(t)
  const layer = (type: string) => ({ mediaType: `application/${type}`, digest: `sha256:${'a'.repeat(64)}`, size: 1 })
  hub.manifest = { layers: [layer('vnd.ollama.image.model'), ...Array.from({ length: 100 }, () => layer('unknown'))] }
  await t.rejects(pull('tiny'), { code: 'MSV_PULL_FAILED', message: /101 layers; the limit is 100/ })
  t.same(hub.requests, [])
})

t.test('a disk that fills up during a download ends the pull, and a later one continues', async t => {
  const { pull, hub, has, partial } = await openPuller(t)
  const controller = new AbortController()
  hub.faults.push(null, null, hangAfter(1_000))
  const first = pull('org/model', { signal: controller.signal })
  await until(has(1_000))
  controller.abort(new Error('gone'))
  await t.rejects(first, { message: 'gone' })
  const path = partial()
  rmSync(path)
  // Each write to this device fails as on a full disk.
  symlinkSync('/dev/full', path)
  await t.rejects(pull('org/model'), { code: 'MSV_PULL_SPACE', hint: /models_folder/ })
  rmSync(path)
  t.equal((await pull('org/model')).bytes, WEIGHTS.length)
})

t.test('copies a GGUF file or a run directory of this machine', async t => {
  const { pull, catalogue, folder } = await openPuller(t)
  const from = join(folder, '..', 'local')
  mkdirSync(join(from, 'sub'), { recursive: true })
  writeFileSync(join(from, 'a.gguf'), 'GGUF')
  const file = await pull(join(from, 'a.gguf'))
  t.match(file, { name: 'a', bytes: 4, changed: true })
  t.equal(readFileSync(file.path, 'utf8'), 'GGUF')
  writeFileSync(join(from, 'config.json'), '{}')
  symlinkSync('sub', join(from, 'link'))
  const run = await pull('./local', { as: 'run' })
  t.same(readdirSync(run.path).sort(), ['a.gguf', 'config.json'])
  t.same(
    catalogue.entries().map(({ name }) => name),
    ['a', 'run']
  )
  await t.rejects(pull('./none.gguf'), { code: 'MSV_PULL_NOT_FOUND' })
})

t.test('an embedding model is refused before a download or a copy, with the setting that serves it', async t => {
  const { pull, catalogue, folder, hub } = await openPuller(t)
  hub.files.set('modules.json', Buffer.from('[]'))
  const refused = { code: 'MSV_PULL_NOT_FOUND', message: /has an embedding model, which does not generate text/ }
  await t.rejects(pull('hf.co/org/model'), { ...refused, hint: /plugins\.model-server\.embedding_model/ })
  t.same(hub.requests, [])
  const from = join(folder, '..', 'local')
  mkdirSync(from, { recursive: true })
  writeFileSync(join(from, 'model.safetensors'), WEIGHTS)
  writeFileSync(join(from, 'config.json'), '{"architectures": ["BertForSequenceClassification"]}')
  await t.rejects(pull('./local', { as: 'run' }), { code: 'MSV_PULL_NOT_FOUND', message: /it has a reranker/ })
  t.same(catalogue.entries(), [])
})

t.test('model names, URLs and paths are distinguished, and wrong ones are refused', async t => {
  const kinds = [
    ['org/model', 'huggingface'],
    ['hf.co/org/model:Q4_0', 'huggingface'],
    ['huggingface.co/org/model', 'huggingface'],
    ['llama3.2', 'ollama'],
    ['llama3.2:1b', 'ollama'],
    ['ollama.com/user/model:tag', 'ollama'],
    ['https://host/a/b.gguf', 'url'],
    ['./a.gguf', 'file'],
    ['/a/b', 'file'],
    ['~/models/x', 'file']
  ] as const
  for (const [text, kind] of kinds) t.equal(parseSource(text).source.kind, kind, text)
  t.match(parseSource('llama3.2'), { source: { repository: 'library/llama3.2', tag: 'latest' } })
  for (const text of [
    '',
    'a b',
    'a/../b',
    'a//b',
    'http://host/a.gguf',
    'https://me:pw@host/a.gguf',
    'a/b/c',
    'x:y:z'
  ]) {
    t.throws(() => parseSource(text), { code: 'MSV_PULL_NAME' }, text)
  }
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), text => {
      try {
        const { name } = parseSource(text)
        return !name.split(/[/:]/).some(part => part === '' || part.startsWith('.'))
      } catch (error) {
        return ['MSV_PULL_NAME', 'MSV_MODEL_NAME'].includes((error as { code: string }).code)
      }
    })
  )
})

t.test('the token of the environment belongs to Hugging Face itself', async t => {
  const settings = { huggingface_url: 'https://huggingface.co', ollama_registry_url: 'https://registry.ollama.ai' }
  const tokenOf = (more: object) => hubsOf({ ...settings, ...more }, { HF_TOKEN: 'env' }).huggingFaceToken
  t.equal(tokenOf({}), 'env')
  t.equal(tokenOf({ huggingface_url: 'https://mirror.example' }), undefined)
  t.equal(tokenOf({ huggingface_url: 'https://mirror.example', huggingface_token: 'mine' }), 'mine')
  const plain = { huggingface_token: 'own' as never, huggingface_url: 'http://mirror.example' }
  t.throws(() => tokenOf(plain), { code: 'MSV_PULL_NAME', message: /https/ }, 'a token is not sent without encryption')
  t.equal(tokenOf({ ...plain, huggingface_url: 'http://127.0.0.1:8080' }), 'own')
})

t.test('progress has the rate and the time that is left, at most once a second', async t => {
  const events: PullEvent[] = []
  let now = 0
  const progress = new Progress(
    event => void events.push(event),
    () => now
  )
  const file = { name: 'a', size: 1_000, digest: null }
  progress.total(1_000)
  for (let bytes = 0; bytes <= 1_000; bytes += 10) {
    progress.file(file, bytes)
    now += 100
  }
  progress.done('done')
  t.equal(events.length, 11)
  t.match(events[4], { completed: 500, total: 1_000, bytes_per_second: 100, eta_seconds: 5, text: /50 %.*5 s left/ })
  t.match(events.at(-2), { completed: 1_000, eta_seconds: 0 })
})
