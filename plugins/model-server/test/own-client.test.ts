import type { InferenceTarget } from '@svc/contracts'
import inferenceClient from '@svc/plugin-inference-client'
import { type Logger, SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { OwnClient, ServedModel } from '#root'
import { freePort } from '../../../test/free-port.ts'
import { openServer } from './open-server.ts'
import { ToyModel } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'
import { until } from './until.ts'

const HERE = { host: '127.0.0.1', port: 11435 }
const DEFAULTS = ['http://127.0.0.1:11435', 'http://127.0.0.1:11434']

function ownClient(target: () => InferenceTarget, listening = HERE, served = new ServedModel('toy', '/models/toy')) {
  return new OwnClient({ current: { target } } as never, served, listening)
}

function problem(target: InferenceTarget, ...others: [typeof HERE?, ServedModel?]) {
  return ownClient(() => target, ...others).problem()
}

t.test("reports a client whose model this server does not have, with both models' names", async t => {
  const asking = { model: 'llama3', urls: DEFAULTS }
  t.equal(
    problem(asking),
    "INFER_MODEL is 'llama3', but the model server of this process at http://127.0.0.1:11435 has 'toy': " +
      'set INFER_MODEL to one of these, or plugins.model-server.model_name to that name'
  )
  for (const [url, host] of [
    ['http://localhost:11435', '127.0.0.1'],
    ['http://[::1]:11435', '::'],
    ['http://127.0.0.1:11435', '0.0.0.0'],
    ['http://gpu:11435', 'gpu']
  ] as const) {
    t.type(problem({ model: 'llama3', urls: [url] }, { host, port: 11435 }), 'string', url)
  }
  t.type(problem({ model: 'llama3', urls: ['http://localhost'] }, { host: 'localhost', port: 80 }), 'string')
})

t.test('reports no problem if the model is served or absent, or the client uses another server', async t => {
  t.equal(problem({ model: null, urls: DEFAULTS }), null)
  for (const model of ['toy', 'toy:latest', 'toy:adapter']) t.equal(problem({ model, urls: DEFAULTS }), null, model)
  for (const url of ['http://127.0.0.1:1', 'http://gpu:11435', 'https://localhost']) {
    t.equal(problem({ model: 'llama3', urls: [url] }), null, url)
  }
  t.equal(new OwnClient(undefined, new ServedModel('toy', '/'), HERE).problem(), null)
})

t.test('logs the problem only when it changes; the health check reports it always', async t => {
  let model = 'llama3'
  const client = ownClient(() => ({ model, urls: DEFAULTS }))
  const lines: string[] = []
  const tell = () => client.report({ warn: line => void lines.push(line) } as Logger)
  tell()
  tell()
  t.match(lines.splice(0), [/'llama3'/])
  t.match(client.health(), { status: 'degraded', detail: /'llama3'/ })
  model = 'other'
  tell()
  t.match(lines.splice(0), [/'other'/])
  model = 'toy'
  tell()
  t.same(lines, [])
  t.same(client.health(), { status: 'ok' })
})

t.test('reports no problem for a client that is disabled or has invalid settings', async t => {
  const failing = ownClient(() => {
    throw new SvcError('ICL_ADDRESS_INVALID', 'no address', { status: 400 })
  })
  t.equal(failing.problem(), null)
  const broken = ownClient(() => {
    throw new TypeError('a mistake')
  })
  t.throws(() => broken.problem(), TypeError)
})

t.test('knows the names of adapters once the model is loaded', async t => {
  const served = new ServedModel('toy', '/models/toy')
  served.state = { status: 'ready', model: new ToyModel({}), modifiedAt: new Date() }
  t.match(problem({ model: 'toy:adapter', urls: DEFAULTS }, HERE, served), /INFER_MODEL is 'toy:adapter'/)
})

t.test('a process whose client requests an unknown model logs that once, at startup', async t => {
  const model = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const port = await freePort()
  const url = `http://localhost:${port}`
  const { kernel } = await openServer(
    t,
    [toyPlugin(), inferenceClient],
    { model, port },
    { 'inference-client': { url, model: 'llama3' } }
  )
  const warnings = () => kernel.log.filter(({ message }) => message.startsWith('INFER_MODEL is'))
  await until(() => warnings().length > 0)
  t.match(warnings(), [{ plugin: 'model-server', level: 'warn', message: /'llama3'.*has 'run'/ }])
  await kernel.replace(inferenceClient)
  t.equal(kernel.state('model-server'), 'active')
  t.equal(warnings().length, 1)
})
