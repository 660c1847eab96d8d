import { type KernelPort, kernelPort } from '@svc/contracts'
import { World } from '@svc/kernel/testing'
import { definePlugin, type Plugin, type PluginContext } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

/** Starts a plugin that announces topics and a surface that reads them. */
async function open(t: Test) {
  const contexts: PluginContext[] = []
  let port: KernelPort | undefined
  const announcer = (): Plugin =>
    definePlugin({ name: 'tasks', activate: ctx => void contexts.push(ctx as PluginContext) })
  const reader = definePlugin({
    name: 'reader',
    requires: { kernel: kernelPort },
    activate: (_ctx, { kernel }) => void (port = kernel)
  })
  const world = new World(t).put(announcer(), reader)
  await world.apply()
  const { topics } = port as unknown as KernelPort
  return { world, topics, contexts, announcer }
}

t.test('each announcement counts up the version and wakes subscribers of that topic only', async t => {
  const { topics, contexts } = await open(t)
  const woken: string[] = []
  topics.subscribe(['tasks.list', 'tasks.agents'], topic => woken.push(topic))
  t.equal(topics.version('tasks.list'), 0)
  for (const topic of ['tasks.list', 'tasks.other', 'tasks.agents', 'tasks.list']) contexts[0]?.changed(topic)
  t.same(woken, ['tasks.list', 'tasks.agents', 'tasks.list'])
  t.equal(topics.version('tasks.list'), 2)
  t.equal(topics.version('tasks.other'), 1)
})

t.test('a subscription ends only itself, even of a function that subscribed twice', async t => {
  const { topics, contexts } = await open(t)
  let woken = 0
  const wake = (): void => void (woken += 1)
  const end = topics.subscribe(['tasks.list'], wake)
  topics.subscribe(['tasks.list'], wake)
  end()
  end()
  contexts[0]?.changed('tasks.list')
  t.equal(woken, 1)
})

t.test('a subscriber may subscribe and unsubscribe while it is woken', async t => {
  const { topics, contexts } = await open(t)
  const woken: string[] = []
  const end = topics.subscribe(['tasks.list'], () => {
    woken.push('first')
    end()
    endOther()
    topics.subscribe(['tasks.list'], () => woken.push('late'))
  })
  const endOther = topics.subscribe(['tasks.list'], () => woken.push('other'))
  contexts[0]?.changed('tasks.list')
  t.same(woken, ['first'])
  contexts[0]?.changed('tasks.list')
  t.same(woken, ['first', 'late'])
})

t.test('an error of a subscriber is logged, and reaches neither the announcer nor other subscribers', async t => {
  const { world, topics, contexts } = await open(t)
  let woken = 0
  topics.subscribe(['tasks.list'], () => {
    throw new Error('cannot draw')
  })
  topics.subscribe(['tasks.list'], () => void (woken += 1))
  t.doesNotThrow(() => contexts[0]?.changed('tasks.list'))
  t.equal(woken, 1)
  t.match(world.lines.at(-1), { level: 'error', fields: { error: { message: 'cannot draw' } } })
})

t.test('a reload keeps versions and subscriptions', async t => {
  const { world, topics, contexts, announcer } = await open(t)
  const woken: number[] = []
  topics.subscribe(['tasks.list'], topic => woken.push(topics.version(topic)))
  contexts[0]?.changed('tasks.list')
  await world.put(announcer()).apply({ stale: ['tasks'] })
  t.equal(contexts.length, 2)
  contexts[1]?.changed('tasks.list')
  contexts[0]?.changed('tasks.list')
  t.same(woken, [1, 2, 3], 'also of the unit that drains')
})
