import { surfaces } from '@svc/contracts'
import { definePlugin, type Plugin, type PluginContext, point } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'

const seats = point<string>('demo.seats')

const plugin = (name: string, activate: (ctx: PluginContext) => void, after: string[] = []): Plugin =>
  definePlugin({ name, after, points: [seats], activate })

async function open(t: Test, plugins: Plugin[], settings = {}) {
  const kernel = await testKernel(plugins, settings)
  t.teardown(() => kernel.close())
  return kernel
}

t.test('onServe listeners run once, in activation order, after the surfaces committed', async t => {
  const events: string[] = []
  const surface = plugin('surface', ctx => {
    ctx.contribute(surfaces, {
      prepare: () => {
        events.push('prepare surface')
        return { commit: () => void events.push('commit'), abort: () => {} }
      }
    })
  })
  const listening = (name: string, after: string[]): Plugin =>
    plugin(
      name,
      ctx =>
        ctx.onServe(name, () => void events.push(`serve ${name}`), {
          prepare: async () => void events.push(`prepare ${name}`)
        }),
      after
    )
  const kernel = await open(t, [listening('b', ['a']), listening('a', ['surface']), surface])
  t.same(events, ['prepare surface', 'prepare a', 'prepare b', 'commit', 'serve a', 'serve b'])
  events.length = 0
  await kernel.replace(plugin('other', () => {}))
  t.same(events, ['prepare surface', 'commit'], 'units that stay are not called again')
})

t.test('a rejected prepare fails the change, and the previous instance continues', async t => {
  const events: string[] = []
  const version = (number: number, prepare: () => Promise<void>): Plugin =>
    plugin('demo', ctx => {
      ctx.onServe('demo', () => void events.push(`serve ${number}`), { prepare })
      ctx.onDrain('demo', reason => void events.push(`drain ${number} ${reason}`))
    })
  const kernel = await open(t, [version(1, async () => {})])
  const failing = version(2, async () => {
    throw new Error('no weights')
  })
  await t.rejects(kernel.replace(failing), {
    code: 'KRN_SURFACE_REFUSED',
    message: /demo refused the change: no weights/
  })
  t.same(events, ['serve 1'], 'the failed instance neither serves nor drains')
  t.equal(kernel.state('demo'), 'active')
})

t.test('closing aborts a pending prepare', async t => {
  const kernel = await open(t, [plugin('demo', () => {})])
  let begun = (): void => {}
  const waiting = new Promise<void>(resolve => (begun = resolve))
  const prepare = (signal: AbortSignal): Promise<void> => {
    begun()
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const change = kernel.replace(plugin('demo', ctx => ctx.onServe('demo', () => {}, { prepare })))
  const refused = t.rejects(change, { code: 'KRN_CLOSED' })
  await waiting
  await kernel.close()
  await refused
})

t.test('an error of an onServe listener degrades its plugin but affects no other', async t => {
  let served = false
  const kernel = await open(t, [
    plugin('a', ctx => {
      ctx.onServe('a', () => {
        throw new Error('a broke')
      })
      ctx.follow(seats, () => {
        throw new Error('a lost its seat')
      })
    }),
    plugin('b', ctx => ctx.onServe('b', () => void (served = true)))
  ])
  t.ok(served)
  t.equal(kernel.state('a'), 'degraded')
  t.equal(kernel.state('b'), 'active')
  const errors = kernel.log.filter(line => line.plugin === 'a' && line.level === 'error')
  t.match(JSON.stringify(errors.map(({ message, fields }) => [message, String(fields.error)])), /a broke/)
})

t.test('onDrain listeners run once, receive the reason and are awaited', async t => {
  const events: string[] = []
  const draining = (name: string): Plugin =>
    plugin('demo', ctx => {
      ctx.onDrain('work', async reason => {
        events.push(`${name} ${reason}`)
        await new Promise(resolve => setImmediate(resolve))
        events.push(`${name} stopped`)
      })
      ctx.effect('file', () => void events.push(`${name} disposed`))
    })
  const kernel = await open(t, [draining('first')])
  await kernel.replace(draining('second'))
  await kernel.close()
  const of = (name: string): string[] => events.filter(event => event.startsWith(name))
  t.same(of('first'), ['first replaced', 'first stopped', 'first disposed'], 'disposers run after the listeners')
  t.same(of('second'), ['second closing', 'second stopped', 'second disposed'])
})

t.test('an onDrain listener that rejects is logged once', async t => {
  const kernel = await testKernel([
    plugin('demo', ctx => {
      ctx.onDrain('work', async () => {
        throw new Error('stuck in the door')
      })
    })
  ])
  await kernel.close()
  const lines = kernel.log.filter(line => line.message === 'stopping its work failed')
  t.match(lines, [{ plugin: 'demo', level: 'warn', fields: { error: { message: 'stuck in the door' } } }])
  t.equal(lines.length, 1)
})

t.test('follow listeners receive the first list and each changed list', async t => {
  const lists: (readonly string[])[] = []
  const kernel = await open(t, [
    plugin('reader', ctx => {
      ctx.follow(seats, items => void lists.push(items))
      ctx.onServe('reader', () => void lists.push(['serves']))
    })
  ])
  t.same(lists, [[], ['serves']], 'the list comes before onServe')
  lists.length = 0
  await kernel.replace(plugin('one', ctx => ctx.contribute(seats, 'aisle')))
  await kernel.replace(plugin('unrelated', () => {}))
  await kernel.replace(plugin('two', ctx => ctx.contribute(seats, 'window')))
  await kernel.replace(plugin('one', () => {}))
  t.same(lists, [['aisle'], ['aisle', 'window'], ['window']])
})

t.test('listeners can be registered only in activate', async t => {
  let context: PluginContext | undefined
  await open(t, [plugin('demo', ctx => (context = ctx))])
  const late = { code: 'KRN_UNDECLARED', message: /after activation/ }
  t.throws(() => context?.onServe('late', () => {}), late)
  t.throws(() => context?.onDrain('late', () => {}), late)
  t.throws(() => context?.follow(seats, () => {}), late)
})
