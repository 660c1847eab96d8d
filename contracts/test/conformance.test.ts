import type { GenerateEvent, LoadedModel, LoadOptions, SecretReference } from '@svc/contracts'
import { type ConformanceSuite, inferenceEngineSuite, secretsResolverSuite } from '@svc/contracts/conformance'
import { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { ToyEngine } from '../../plugins/model-server/test/toy-engine.ts'

/** Returns the names of the cases that an implementation fails. */
async function failures(suite: ConformanceSuite): Promise<string[]> {
  const failed: string[] = []
  for (const { name, run } of suite) await run().catch(() => failed.push(name))
  return failed
}

const known = { backend: 'vault', name: 'token', value: 'opensesame' }
const unknown = { backend: 'vault', name: 'other' }
const refuse = (code: string, { backend, name }: SecretReference): SvcError =>
  new SvcError(code, `${backend}/${name} is not there`)

t.test('a secrets resolver that follows the contract passes, and one that leaks a value fails', async t => {
  const careful = {
    backends: ['vault'],
    async resolve(reference: SecretReference) {
      if (reference.backend !== 'vault') throw refuse('SEC_BACKEND_UNKNOWN', reference)
      if (reference.name !== known.name) throw refuse('SEC_NOT_FOUND', reference)
      return known.value
    }
  }
  t.same(await failures(secretsResolverSuite({ resolver: careful, known, unknown })), [])
  const careless = {
    backends: ['Vault'],
    async resolve(reference: SecretReference) {
      if (reference.name === known.name) return known.value
      throw new SvcError('SEC_NOT_FOUND', `vault/other is not among ${JSON.stringify({ token: known.value })}`)
    }
  }
  t.equal((await failures(secretsResolverSuite({ resolver: careless, known, unknown }))).length, 3)
})

/** Returns an engine with the toy model, which reads no files. */
function toyEngine(change: (model: LoadedModel) => Partial<LoadedModel> = () => ({})) {
  const engine = new ToyEngine()
  return {
    name: 'toy',
    devices: () => engine.devices(),
    async load(options: LoadOptions): Promise<LoadedModel> {
      if (options.runDirectory !== '/toy') throw new SvcError('INF_RUN_DIR_NOT_FOUND', 'not there')
      if ((options.device ?? 'cpu') !== 'cpu') throw new SvcError('INF_DEVICE_UNAVAILABLE', 'not there')
      options.signal?.throwIfAborted()
      const model = await engine.load(options)
      const changed = change(model)
      return new Proxy(model, {
        get: (target, name) => {
          const value = Reflect.get(name in changed ? changed : target, name)
          return typeof value === 'function' ? value.bind(target) : value
        }
      })
    }
  }
}
const subject = { runDirectory: '/toy', prompt: 'to be or not to be, that is the question\n' }

t.test('an engine that follows the contract passes', async t => {
  t.same(await failures(inferenceEngineSuite({ ...subject, engine: toyEngine() })), [])
})

const faults: [fault: string, change: (model: LoadedModel) => Partial<LoadedModel>, caught: RegExp][] = [
  ['cannot detokenize', () => ({ detokenize: () => '' }), /restores a string/],
  [
    'never yields done',
    model => ({
      async *generate(request) {
        for await (const event of model.generate(request)) if (event.type === 'text') yield event
      }
    }),
    /ends with done/
  ],
  [
    'yields stop strings',
    model => ({ generate: ({ stop: _ignored, ...request }) => model.generate(request) }),
    /stops before a stop string/
  ],
  [
    'ignores a cancellation',
    model => ({ generate: ({ signal: _ignored, ...request }) => model.generate(request) }),
    /within one token after a cancellation/
  ],
  [
    'ignores the seed',
    model => {
      let seed = 0
      return { generate: request => model.generate({ ...request, sampling: { temperature: 1.5, seed: ++seed } }) }
    },
    /same text for the same seed/
  ],
  ['does not free its slots', model => ({ capacity: () => ({ ...model.capacity(), active: 1 }) }), /frees its slot/],
  [
    'mixes up its sequences',
    model => {
      let running = 0
      return {
        async *generate(request): AsyncGenerator<GenerateEvent> {
          running++
          try {
            for await (const event of model.generate(request))
              yield event.type === 'text' && running > 1 ? { ...event, text: event.text.toUpperCase() } : event
          } finally {
            running--
          }
        }
      }
    },
    /the same concurrently as sequentially/
  ]
]

for (const [fault, change, caught] of faults) {
  t.test(`a model that ${fault} fails`, async t => {
    const failed = await failures(inferenceEngineSuite({ ...subject, engine: toyEngine(change) }))
    t.ok(
      failed.some(name => caught.test(name)),
      failed.join('; ')
    )
  })
}
