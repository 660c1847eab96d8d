import { type DashboardPage, dashboardPages } from '@svc/contracts'
import { World } from '@svc/kernel/testing'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

const page = (path: string) =>
  ({
    path,
    title: 'Tasks',
    section: 'run',
    view: { kind: 'table', operation: 'tasks.list', key: 'id', columns: [{ field: 'id' }] }
  }) as const

const contributing = (name: string, ...items: readonly DashboardPage[]): Plugin =>
  definePlugin({
    name,
    activate(ctx) {
      for (const item of items) ctx.contribute(dashboardPages, item)
    }
  })

async function open(t: Test, ...plugins: readonly Plugin[]): Promise<World> {
  const world = new World(t).put(...plugins)
  await world.apply()
  return world
}

const pages = (world: World) => world.kernel.current.items(dashboardPages)

t.test('items of a data point are copied: a later change of the original has no effect', async t => {
  const original = structuredClone(page('tasks/list')) as DashboardPage & { title: string; view: { key: string } }
  const world = await open(t, contributing('tasks', original))
  original.title = 'Changed'
  original.view.key = 'changed'
  t.strictSame(
    pages(world).map(({ item, unit }) => [item, unit.name]),
    [[page('tasks/list'), 'tasks']]
  )
})

t.test('an item with a function fails the activation and names its place', async t => {
  const world = await open(
    t,
    contributing('tasks', { ...page('tasks/list'), view: { kind: 'text', operation: 'x', field: () => 'x' } } as never)
  )
  t.equal(world.state('tasks'), 'failed')
  t.match(world.kernel.records.get('tasks')?.error, {
    code: 'KRN_NOT_REMOTABLE',
    message: 'tasks contributes to dashboard.pages: view.field is a function',
    hint: /items of dashboard\.pages are data/
  })
  t.same(pages(world), [])
})

t.test('two pages with one path conflict, and both owners are named', async t => {
  const world = await open(t, contributing('one', page('shared/list')), contributing('two', page('shared/list')))
  t.match(world.why('two') ?? world.why('one'), /conflict on dashboard\.pages shared\/list: one and two/)
  t.equal(pages(world).length, 1)
})
