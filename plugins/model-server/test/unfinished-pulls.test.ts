import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { Catalogue } from '#catalogue'
import { Puller } from '#pull'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { clientsOf, refusal } from './clients.ts'
import { dropAfter, hangAfter, openHub } from './model-hub.ts'
import { openServer } from './open-server.ts'
import { ToyEngine } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'
import { until } from './until.ts'

const WEIGHTS = randomBytes(300_000)
const CHILD = [...CHILD_ARGUMENTS, join(import.meta.dirname, 'pull-child.ts')]
const DAY_MS = 24 * 3_600_000

async function openFolder(t: Test, unfinishedDays = 30) {
  const root = t.testdir({})
  const hub = await openHub(t)
  hub.files.set('config.json', Buffer.from('{"model_type": "llama"}'))
  hub.files.set('model.safetensors', WEIGHTS)
  const folder = join(root, 'models')
  const catalogue = new Catalogue(join(root, 'models.json'), {}, root, () => undefined)
  const hubs = () => ({ huggingFace: hub.url, huggingFaceToken: undefined, ollama: hub.url })
  const limits = { attempts: 1, delayMs: 1, stallMs: 60_000, unfinishedDays: () => unfinishedDays }
  const puller = new Puller({ folder, projectRoot: root, catalogue, hubs, ...limits })
  const pull = (options: { from?: string; as?: string; signal?: AbortSignal } = {}) =>
    puller.pull({ from: 'org/model', signal: new AbortController().signal, onEvent: () => undefined, ...options })
  const partial = (): string => {
    const unfinished = join(folder, '.unfinished')
    const name = readdirSync(unfinished).find(each => !each.endsWith('.lock'))
    return join(unfinished, name ?? 'none', 'model.safetensors.partial')
  }
  const has = (bytes: number) => () => existsSync(folder) && existsSync(partial()) && statSync(partial()).size === bytes
  const ranges = () => hub.requests.filter(({ path }) => path.endsWith('model.safetensors')).map(({ range }) => range)
  return { root, hub, folder, puller, pull, partial, has, ranges }
}

t.test('a process that is killed in the middle of a download leaves what the next pull continues', async t => {
  const { root, hub, puller, pull, has, ranges } = await openFolder(t)
  hub.faults.push(null, hangAfter(100_000))
  const child = spawn(process.execPath, [...CHILD, hub.url.href, root], { stdio: 'ignore' })
  await until(has(100_000))
  await t.rejects(pull(), { code: 'MSV_PULL_RUNNING' }, 'two processes do not pull the same model')
  await t.rejects(puller.discard('org/model'), { code: 'MSV_PULL_RUNNING' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.match(await puller.unfinished(), [{ model: 'org/model', bytes: 100_023, total: 300_023 }])
  const { path } = await pull()
  t.same(readFileSync(join(path, 'model.safetensors')), WEIGHTS)
  t.same(ranges(), [undefined, 'bytes=100000-'])
  t.same(await puller.unfinished(), [])
})

t.test('a limit on the size of files ends a download as a full disk does, and a later pull continues it', async t => {
  const { root, hub, pull, partial, ranges } = await openFolder(t)
  const args = ['-c', 'ulimit -f 200; exec "$@"', 'sh', process.execPath, ...CHILD, hub.url.href, root]
  const { stdout } = await promisify(execFile)('/bin/sh', args)
  t.match(JSON.parse(stdout), { code: 'MSV_PULL_SPACE', message: /model\.safetensors\.partial cannot grow/ })
  const begun = statSync(partial()).size
  t.ok(begun > 0 && begun < WEIGHTS.length, `${begun} bytes`)
  t.same(readFileSync(join((await pull()).path, 'model.safetensors')), WEIGHTS)
  t.same(ranges(), [undefined, `bytes=${begun}-`])
})

t.test('unfinished downloads are deleted after the time of the setting, unless they run', async t => {
  const { hub, folder, puller, pull, partial, has } = await openFolder(t, 10)
  hub.faults.push(null, dropAfter(100_000, has(100_000)))
  await t.rejects(pull(), { code: 'MSV_PULL_FAILED' })
  const unfinished = join(partial(), '..')
  const age = (days: number): void => {
    const time = new Date(Date.now() - days * DAY_MS)
    for (const name of readdirSync(unfinished)) utimesSync(join(unfinished, name), time, time)
    utimesSync(unfinished, time, time)
  }
  t.same(await puller.discardOld(), [])
  age(9)
  t.same(await puller.discardOld(), [])
  age(11)
  const stop = new AbortController()
  hub.faults.push(hangAfter(100_000))
  const running = pull({ signal: stop.signal })
  await until(() => hub.requests.length === 3)
  age(11)
  t.same(await puller.discardOld(), [], 'it runs')
  stop.abort(new Error('enough'))
  await t.rejects(running, { message: 'enough' })
  age(11)
  t.same(await puller.discardOld(), [unfinished])
  t.notOk(existsSync(unfinished))
  mkdirSync(join(folder, '.unfinished', 'remains'))
  t.same(await puller.unfinished(), [], 'without a record, it cannot be named')
})

t.test('a torn or foreign record is no record', async t => {
  const { hub, puller, pull, partial, has, ranges } = await openFolder(t)
  hub.faults.push(null, dropAfter(100_000, has(100_000)))
  await t.rejects(pull(), { code: 'MSV_PULL_FAILED' })
  for (const text of ['{"version":1,"model":"org/mo', '[]', 'null', '{"files":{}}']) {
    writeFileSync(join(partial(), '..', '.svc-pull.json'), text)
    t.same(await puller.unfinished(), [], text)
  }
  t.same(readFileSync(join((await pull()).path, 'model.safetensors')), WEIGHTS)
  t.same(ranges(), [undefined, 'bytes=100000-'])
})

t.test('the list of models has unfinished downloads, and removing the name deletes them', async t => {
  const { root, hub } = await openFolder(t)
  mkdirSync(join(root, 'first'))
  writeFileSync(join(root, 'first', 'config.json'), '{}')
  const server = await openServer(t, [toyPlugin(new ToyEngine())], {
    model: join(root, 'first'),
    models_folder: join(root, 'models'),
    huggingface_url: hub.url.href
  })
  await server.ready()
  const { ollama } = clientsOf(server.url)
  const call = (id: string, input: object = {}) => server.kernel.callById(id, input) as Promise<Record<string, any>>
  const unfinished = async () =>
    (await call('model.catalogue')).models.filter((each: any) => each.status === 'unfinished')
  const fail = async (input: object) => {
    hub.faults.push(null, (_request, response) => {
      response.writeHead(404).end()
      return true
    })
    await t.rejects(call('model.pull', input), { code: 'MSV_PULL_NOT_FOUND' })
  }
  await fail({ model: 'org/model' })
  await fail({ model: 'hf.co/org/model', as: 'mine' })
  t.match(await unfinished(), [
    {
      name: 'mine',
      size_bytes: 23,
      notes: [/of 0\.3 MB on disk; svc model pull hf\.co\/org\/model --as mine continues/]
    },
    { name: 'org/model', notes: [/; svc model pull org\/model continues, svc model rm org\/model deletes/] }
  ])
  t.match(await call('model.remove', { name: 'mine' }), { name: 'mine', deleted: true })
  await ollama.delete({ model: 'org/model' })
  t.same(await unfinished(), [])
  t.match(await refusal(ollama.delete({ model: 'org/model' })), { status_code: 404 })
  await call('model.pull', { model: 'org/model' })
  hub.files.set('model.safetensors', Buffer.from('new'))
  hub.faults.push((_request, response) => {
    response.writeHead(404).end()
    return true
  })
  await t.rejects(call('model.pull', { model: 'org/model' }), { code: 'MSV_PULL_NOT_FOUND' })
  t.equal((await unfinished()).length, 1, 'of a newer version')
  t.match(await call('model.remove', { name: 'org/model' }), { deleted: true })
  t.same(await unfinished(), [])
  t.same(readdirSync(join(root, 'models')), ['.unfinished'])
  t.same(readdirSync(join(root, 'models', '.unfinished')), [])
})
