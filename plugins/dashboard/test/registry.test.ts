import { dashboardActions, dashboardCards, dashboardInbox, dashboardPages, dashboardSearch } from '@svc/contracts'
import { defineOperation, definePlugin, deltaOperation, type Plugin, type PluginContext, t } from '@svc/plugin-sdk'
import tap from 'tap'
import { openWorld, type World } from './world.ts'

const order = t.object({
  id: t.string(),
  total: t.number(),
  customer: t.nullable(t.object({ name: t.string() })),
  tags: t.record(t.string())
})
const list = defineOperation({
  id: 'shop.list',
  summary: 'List orders',
  effect: 'read',
  input: t.object({ state: t.optional(t.string()), limit: t.integer({ default: 10 }) }),
  output: t.object({ orders: t.array(order), next: t.optional(t.string()), free: t.unknown() })
})
const show = defineOperation({
  id: 'shop.show',
  summary: 'Show an order',
  effect: 'read',
  input: t.object({ id: t.string() }),
  output: order
})
const feed = deltaOperation({
  id: 'shop.feed',
  summary: 'Changes of orders',
  row: order,
  watch: { on: ['shop.orders'] }
})
const ship = defineOperation({
  id: 'shop.ship',
  summary: 'Ship an order',
  effect: 'write',
  input: t.object({ id: t.string(), note: t.optional(t.string()) }),
  output: t.object({
    graph: t.object({
      nodes: t.array(t.object({ id: t.string() })),
      edges: t.array(t.object({ from: t.string(), to: t.string() }))
    })
  })
})
const graph = defineOperation({
  id: 'shop.graph',
  summary: 'Show dependencies',
  effect: 'read',
  input: t.object({}),
  output: ship.output
})
const inbox = defineOperation({
  id: 'shop.inbox',
  summary: 'Orders that wait',
  effect: 'read',
  input: t.object({}),
  output: t.object({ items: t.array(t.unknown()) })
})
const search = defineOperation({
  id: 'shop.search',
  summary: 'Search orders',
  effect: 'read',
  input: t.object({ text: t.string() }),
  output: t.object({ results: t.array(t.unknown()) })
})

/** Returns a plugin that contributes to the console. */
function shop(contribute: (ctx: PluginContext) => void): Plugin {
  const operations = [list, show, feed, ship, graph, inbox, search]
  return definePlugin({
    name: 'shop',
    operations,
    activate(ctx) {
      for (const operation of operations)
        ctx.implement(
          operation as never,
          (() => {
            throw new Error('not called')
          }) as never
        )
      contribute(ctx as PluginContext)
    }
  }) as Plugin
}

const table = { kind: 'table', operation: 'shop.list', rows: 'orders', key: 'id' } as const
const page = (view: unknown, more: object = {}): never =>
  ({ path: 'shop/orders', title: 'Orders', section: 'run', view, ...more }) as never

interface State {
  readonly pages: readonly { readonly path: string; readonly plugin: string }[]
  readonly cards: readonly unknown[]
  readonly actions: readonly unknown[]
  readonly broken: readonly {
    readonly plugin: string
    readonly point: string
    readonly entry: string
    readonly reason: string
  }[]
}

async function stateOf(world: World, role: 'viewer' | 'operator' | 'owner' = 'owner'): Promise<State> {
  return (await (await (await world.signIn(role)).get('/ui/api/console')).json()) as State
}

tap.test('correct views of every kind are accepted', async t => {
  const views = [
    { ...table, columns: [{ field: 'customer.name' }, { field: 'tags.any' }, { field: 'total', format: 'number' }] },
    {
      ...table,
      input: { state: { from: 'filter', name: 'state' } },
      filters: [{ name: 'state', label: 'State', choices: ['new'] }]
    },
    {
      ...table,
      open: { page: 'shop/orders/:id', params: { id: { from: 'row', name: 'id' } } },
      sort: '-total',
      of: 'order'
    },
    { kind: 'table', operation: 'shop.feed', key: 'id', columns: [{ field: 'total' }] },
    { kind: 'text', operation: 'shop.list', field: 'free.anything', format: 'json' },
    { kind: 'log', operation: 'shop.list', rows: 'orders', time: 'id', message: 'customer.name' },
    { kind: 'log', operation: 'shop.feed', key: 'id', time: 'id', message: 'id' },
    { kind: 'chart', operation: 'shop.list', rows: 'orders', x: 'id', series: [{ field: 'total', label: 'Total' }] },
    { kind: 'graph', operation: 'shop.graph', nodes: 'graph.nodes', edges: 'graph.edges' },
    { kind: 'timeline', operation: 'shop.list', rows: 'orders', lane: 'id', start: 'total', end: 'total' },
    { kind: 'form', operation: 'shop.ship', input: { note: { value: 'soon' } }, submit: 'Ship' },
    { kind: 'tabs', items: [{ title: 'All', view: table }, { view: { kind: 'stack', items: [{ view: table }] } }] }
  ]
  const world = await openWorld({
    plugins: [
      shop(ctx => {
        for (const [index, view] of views.entries())
          ctx.contribute(dashboardPages, page(view, { path: `shop/page-${index}` }))
        ctx.contribute(
          dashboardPages,
          page(
            { kind: 'record', operation: 'shop.show', input: { id: { from: 'route', name: 'id' } } },
            { path: 'shop/orders/:id' }
          )
        )
        ctx.contribute(dashboardCards, { title: 'Orders', size: 's', view: table, link: { page: 'other/page' } })
        ctx.contribute(dashboardActions, {
          on: 'order',
          label: 'Ship',
          operation: 'shop.ship',
          bind: { id: { from: 'row', name: 'id' } },
          ask: ['note'],
          when: { field: 'total', in: [1] }
        })
        ctx.contribute(dashboardInbox, { operation: 'shop.inbox' })
        ctx.contribute(dashboardSearch, { operation: 'shop.search' })
      })
    ]
  })
  t.teardown(() => world.close())
  const state = await stateOf(world)
  t.same(state.broken, [])
  t.equal(state.pages.length, views.length + 1)
  t.match(state, { cards: [{ plugin: 'shop' }], actions: [{ plugin: 'shop' }] })
})

tap.test('a mistake in a page makes only that page broken, with the place and the reason', async t => {
  const cases: [unknown, RegExp][] = [
    [{ ...table, operation: 'shop.none' }, /^view\.operation: no running plugin has the operation shop\.none$/],
    [
      { ...table, rows: 'items' },
      /^view\.rows: the output of shop\.list has no field items; known fields: orders, next, free$/
    ],
    [{ ...table, rows: 'next' }, /^view\.rows: next of shop\.list is not an array$/],
    [{ ...table, rows: undefined }, /^view\.rows: the whole output of shop\.list is not an array$/],
    [
      { ...table, key: 'key' },
      /^view\.key: the row of shop\.list has no field key; known fields: id, total, customer, tags$/
    ],
    [{ ...table, columns: [{ field: 'customer.mail' }] }, /^view\.columns\[0\]\.field: .* no field customer\.mail/],
    [{ ...table, columns: [{ field: 'id', format: 'date' }] }, /^view\.columns\[0\]\.format: it is none of text, code/],
    [{ ...table, colums: [] }, /^view\.colums: unknown field; known fields: kind, operation, key/],
    [{ ...table, sort: '-size' }, /^view\.sort: /],
    [
      { ...table, input: { status: { value: 1 } } },
      /^view\.input\.status: shop\.list has no such input field; known fields: state, limit$/
    ],
    [
      { ...table, input: { state: { from: 'route', name: 'id' } } },
      /^view\.input\.state\.name: the page's path has no parameter :id$/
    ],
    [{ ...table, input: { state: { from: 'row', name: 'id' } } }, /^view\.input\.state\.from: there is no row here$/],
    [{ ...table, open: { page: 'shop/none' } }, /^view\.open\.page: the plugin shop contributes no page shop\/none$/],
    [{ ...table, open: { page: 'other/x/:id' } }, /^view\.open\.params: it sets no value for :id$/],
    [
      { kind: 'table', operation: 'shop.feed', rows: 'upsert', key: 'id' },
      /^view\.rows: a delta operation has its rows in upsert/
    ],
    [
      { kind: 'log', operation: 'shop.feed', time: 'id', message: 'id' },
      /^view\.key: the row of shop\.feed has no field key/
    ],
    [
      { kind: 'record', operation: 'shop.list', name: 'title' },
      /^view\.name: the output of shop\.list has no field title/
    ],
    [{ kind: 'record', operation: 'shop.show' }, /^view\.input: it does not bind id, which shop\.show requires$/],
    [
      { kind: 'record', operation: 'shop.ship', input: { id: { value: 'a' } } },
      /^view\.operation: shop\.ship has the effect write/
    ],
    [
      {
        kind: 'graph',
        operation: 'shop.graph',
        nodes: 'graph.nodes',
        edges: 'graph.edges',
        fields: { from: 'source' }
      },
      /^view\.fields\.from: /
    ],
    [{ kind: 'tabs', items: [{ view: table }, { view: { ...table, key: 'no' } }] }, /^view\.items\[1\]\.view\.key: /],
    [{ kind: 'pie' }, /^view\.kind: it is none of table, record/],
    [{ kind: 'module', entry: 'main', uses: [] }, /^view\.entry: svc\.pages in the package of shop has no file main$/],
    [null, /^view\.kind: /],
    ['table', /^view\.kind: /]
  ]
  const more: [object, RegExp][] = [
    [{ path: 'store/orders' }, /^path: it does not begin with the plugin's name: write shop\/store\/orders$/],
    [{ path: 'shop/a b' }, /^path: the segment "a b"/],
    [{ path: 'shop//x' }, /^path: the segment ""/],
    [{ icon: 'unicorn' }, /^icon: it is none of activity/],
    [{ section: 'misc' }, /^section: it is none of run, build, observe, system$/],
    [{ role: 'admin' }, /^role: it is none of viewer, operator, owner$/],
    [{ order: '1' }, /^order: it is not a number$/],
    [{ title: '' }, /^title: it is not a text$/]
  ]
  const all = [
    ...cases.map(([view, reason], index) => ({ item: page(view, { path: `shop/case-${index}` }), reason })),
    ...more.map(([fields, reason]) => ({ item: page(table, { path: 'shop/more', ...fields }), reason }))
  ]
  for (const { item, reason } of all) {
    const world = await openWorld({
      plugins: [
        shop(ctx => {
          ctx.contribute(dashboardPages, page(table, { path: 'shop/good' }))
          ctx.contribute(dashboardPages, item)
        })
      ]
    })
    const state = await stateOf(world)
    t.match(state.broken, [{ plugin: 'shop', point: 'dashboard.pages', reason }], String(reason))
    t.same(
      state.pages.map(({ path }) => path),
      ['shop/good']
    )
    t.equal(((await world.kernel.callById('dashboard.pages', {})) as State).broken.length, 1)
    t.equal(world.kernel.state('shop'), 'active')
    await world.close()
  }
})

tap.test('mistakes in cards, actions and sources are found too', async t => {
  const world = await openWorld({
    plugins: [
      shop(ctx => {
        ctx.contribute(dashboardCards, { title: 'Bad', size: 'xl', view: table } as never)
        ctx.contribute(dashboardActions, {
          on: 'order',
          label: 'Ship',
          operation: 'shop.ship',
          bind: { order: { value: 1 } }
        })
        ctx.contribute(dashboardActions, {
          on: 'order',
          label: 'Ask',
          operation: 'shop.ship',
          bind: {},
          ask: ['reason']
        })
        ctx.contribute(dashboardInbox, { operation: 'shop.ship' })
        ctx.contribute(dashboardSearch, { operation: 'shop.inbox' })
      })
    ]
  })
  t.teardown(() => world.close())
  const { broken } = await stateOf(world)
  t.match(broken, [
    { point: 'dashboard.cards', entry: 'Bad', reason: /^size: / },
    { point: 'dashboard.actions', entry: 'order: Ship', reason: /^bind\.order: / },
    { point: 'dashboard.actions', entry: 'order: Ask', reason: /^ask\[0\]: / },
    { point: 'dashboard.inbox', entry: 'shop.ship', reason: /effect write/ },
    { point: 'dashboard.search', entry: 'shop.inbox', reason: /no input field text/ }
  ])
  const warnings = world.kernel.log.filter(({ message }) => message.startsWith('the console leaves out'))
  t.equal(warnings.length, broken.length, 'each is in the log once')
})

tap.test('a page above the role of the session is not shown to it', async t => {
  const world = await openWorld({
    plugins: [
      shop(ctx => {
        for (const role of ['viewer', 'operator', 'owner'] as const)
          ctx.contribute(dashboardPages, page(table, { path: `shop/${role}`, role }))
        ctx.contribute(dashboardActions, {
          on: 'order',
          label: 'Ship',
          operation: 'shop.ship',
          bind: {},
          role: 'operator'
        })
      })
    ]
  })
  t.teardown(() => world.close())
  const shown = async (role: 'viewer' | 'operator' | 'owner'): Promise<string[]> =>
    (await stateOf(world, role)).pages.map(({ path }) => path)
  t.same(await shown('viewer'), ['shop/viewer'])
  t.same(await shown('operator'), ['shop/viewer', 'shop/operator'])
  t.same(await shown('owner'), ['shop/viewer', 'shop/operator', 'shop/owner'])
  t.equal((await stateOf(world, 'viewer')).actions.length, 0)
})

tap.test('a page that names an operation of a missing plugin works once the plugin is there', async t => {
  const world = await openWorld({
    plugins: [
      definePlugin({
        name: 'guest',
        activate: ctx => ctx.contribute(dashboardPages, page(table, { path: 'guest/orders' }))
      }) as Plugin
    ]
  })
  t.teardown(() => world.close())
  t.equal((await stateOf(world)).broken.length, 1)
  await world.kernel.replace(shop(() => {}))
  t.match(await stateOf(world), { broken: [], pages: [{ path: 'guest/orders', plugin: 'guest' }] })
})
