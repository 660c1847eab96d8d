import { join } from 'node:path'
import t from 'tap'
import { OnnxEmbeddings } from '#embedding'
import { openEngine, temporaryFolder } from '../support/models.ts'
import { fixtures } from './support.ts'

t.test('a model is closed after the matrices behind its pooling have been applied', async t => {
  const engine = await openEngine(t)
  const runtime = engine.openRuntime()
  const events: string[] = []
  let begin = (): void => {}
  let end = (): void => {}
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  const held = new Promise<void>(resolve => {
    end = resolve
  })
  // The first session is that of the encoder, the second one that of the matrices.
  let sessions = 0
  const createSession: typeof runtime.createSession = async options => {
    const session = await runtime.createSession(options)
    if (++sessions < 2) return session
    const [bind, close] = [session.bind.bind(session), session.close.bind(session)]
    session.bind = (...tensors) => {
      const binding = bind(...tensors)
      const run = binding.run.bind(binding)
      binding.run = async signal => {
        begin()
        await held
        await run(signal)
        events.push('applied')
      }
      return binding
    }
    session.close = async () => {
      events.push('closed')
      await close()
    }
    return session
  }
  const loader = new OnnxEmbeddings({
    cacheDirectory: join(await temporaryFolder(t), 'cache'),
    quantization: 'none',
    onUncached: reason => t.fail(reason.message),
    openRuntime: () =>
      new Proxy(runtime, {
        get(target, key) {
          if (key === 'createSession') return createSession
          const value = Reflect.get(target, key, target)
          return typeof value === 'function' ? value.bind(target) : value
        }
      }),
    threads: async () => 1
  })
  t.teardown(() => loader.close())
  const model = await loader.load({ directory: join(fixtures, 'distilbert') })
  const embedding = model.embed(['a quick fox'])
  await begun
  const closing = model.close()
  // Turns in which a session that does not wait would be closed.
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  end()
  t.equal((await embedding).count, 1)
  await closing
  t.same(events, ['applied', 'closed'])
  await t.rejects(model.embed(['a']), { code: 'INF_MODEL_CLOSED' })
})
