import { once } from 'node:events'
import { dashboardInbox, dashboardSearch } from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, SvcError, t } from '@svc/plugin-sdk'
import tap from 'tap'
import { WebSocket } from 'ws'
import { openWorld, type World } from './world.ts'

const items = t.object({ items: t.array(t.unknown()) })
const results = t.object({ results: t.array(t.unknown()) })

const answer = defineOperation({
  id: 'desk.answer',
  summary: 'Answer a question',
  effect: 'write',
  input: t.object({ id: t.string() }),
  output: t.object({})
})
const inbox = defineOperation({
  id: 'desk.inbox',
  summary: 'Questions',
  effect: 'read',
  input: t.object({}),
  output: items,
  watch: { on: ['desk.questions'] }
})
const search = defineOperation({
  id: 'desk.search',
  summary: 'Search questions',
  effect: 'read',
  input: t.object({ text: t.string() }),
  output: results
})
const secretInbox = defineOperation({
  id: 'vault.inbox',
  summary: 'What only an owner sees',
  effect: 'read',
  scopes: ['vault.admin'],
  input: t.object({}),
  output: items
})
const brokenInbox = defineOperation({
  id: 'broken.inbox',
  summary: 'A source with faults',
  effect: 'read',
  input: t.object({}),
  output: items
})

const item = (id: string, since: number, answers: readonly object[] = []): object => ({
  id,
  kind: 'question',
  title: `Question ${id}`,
  body: '',
  since,
  link: `/ui/p/desk/questions/${id}`,
  answers
})

/** Plugins with sources, and the questions that wait at the desk. */
function sources() {
  const questions: object[] = []
  let changed = (): void => {}
  const desk = definePlugin({
    name: 'desk',
    operations: [answer, inbox, search],
    activate(ctx) {
      changed = () => ctx.changed('desk.questions')
      ctx.implement(answer, () => ({}))
      ctx.implement(inbox, () => ({ items: [...questions] }))
      ctx.implement(search, ({ text }) => ({
        results: [{ title: `About ${text}`, kind: 'question', link: '/ui/p/desk' }]
      }))
      ctx.contribute(dashboardInbox, { operation: 'desk.inbox' })
      ctx.contribute(dashboardSearch, { operation: 'desk.search' })
    }
  }) as Plugin
  const vault = definePlugin({
    name: 'vault',
    operations: [secretInbox],
    activate(ctx) {
      ctx.implement(secretInbox, () => ({ items: [item('secret', 5)] }))
      ctx.contribute(dashboardInbox, { operation: 'vault.inbox' })
    }
  }) as Plugin
  const broken = (respond: () => { items: unknown[] }): Plugin =>
    definePlugin({
      name: 'broken',
      operations: [brokenInbox],
      activate(ctx) {
        ctx.implement(brokenInbox, respond)
        ctx.contribute(dashboardInbox, { operation: 'broken.inbox' })
      }
    }) as Plugin
  return { desk, vault, broken, questions, changed: () => changed() }
}

interface Inbox {
  readonly items: readonly {
    readonly id: string
    readonly source: string
    readonly plugin: string
    readonly answers: readonly { readonly label: string }[]
  }[]
  readonly failed: readonly { readonly operation: string; readonly code: string; readonly message: string }[]
}

async function inboxOf(world: World, role: 'viewer' | 'operator' | 'owner'): Promise<Inbox> {
  return (await (await (await world.signIn(role)).call('dashboard.inbox')).json()) as Inbox
}

tap.test(
  'the inbox merges all sources that the role may see, oldest first, with the answers that it may give',
  async t => {
    const { desk, vault, questions } = sources()
    const world = await openWorld({ plugins: [desk, vault] })
    t.teardown(() => world.close())
    const answers = [
      { label: 'Yes', operation: 'desk.answer', input: { id: 'b' }, tone: 'primary' },
      { label: 'No', operation: 'desk.none', input: {} }
    ]
    questions.push(item('b', 9, answers), item('a', 1))
    t.match(await inboxOf(world, 'viewer'), {
      items: [
        { id: 'a', source: 'desk.inbox', plugin: 'desk' },
        { id: 'b', answers: [] }
      ],
      failed: []
    })
    const operator = await inboxOf(world, 'operator')
    t.same(
      operator.items.map(({ answers }) => answers.map(({ label }) => label)),
      [[], ['Yes']]
    )
    const owner = await inboxOf(world, 'owner')
    t.same(
      owner.items.map(({ id }) => id),
      ['a', 'secret', 'b']
    )
  }
)

tap.test('a source that fails is listed, and hides nothing of the others', async t => {
  const { desk, broken, questions } = sources()
  questions.push(item('a', 1))
  let respond = (): { items: unknown[] } => ({ items: [] })
  const world = await openWorld({ plugins: [desk, broken(() => respond())] })
  t.teardown(() => world.close())
  const cases: [() => { items: unknown[] }, object][] = [
    [
      () => {
        throw new SvcError('BROKEN', 'out of order', { status: 503 })
      },
      { operation: 'broken.inbox', plugin: 'broken', code: 'BROKEN', message: 'out of order' }
    ],
    [
      () => {
        throw new Error('password=abc')
      },
      { code: 'OPR_FAILED' }
    ],
    [
      () => ({ items: [{ id: 'x' }] }),
      { code: 'DSH_ENTRY_BROKEN', message: /returned an invalid items\[0\]: .*missing/ }
    ]
  ]
  for (const [next, failed] of cases) {
    respond = next
    const found = await inboxOf(world, 'viewer')
    t.match(found.items, [{ id: 'a' }])
    t.match(found.failed, [failed])
    t.notMatch(JSON.stringify(found), /password/)
  }
  respond = () => ({ items: [{ id: 'x' }, item('good', 0)] })
  t.match((await inboxOf(world, 'viewer')).items, [{ id: 'good' }, { id: 'a' }], 'valid items of it are kept')
})

/** Opens the stream of a page; resolves when the server has accepted it. */
async function openStream(world: World): Promise<WebSocket> {
  const { cookie } = await world.signIn('viewer')
  const socket = new WebSocket(`${world.origin.replace('http', 'ws')}/ui/stream`, {
    headers: { cookie, origin: world.origin }
  })
  await once(socket, 'open')
  return socket
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

tap.test('the topics of the sources are watched only while a page is open', async t => {
  const { desk } = sources()
  const world = await openWorld({ plugins: [desk] })
  t.teardown(() => world.close())
  const { topics } = world.port
  t.notOk(topics.watched('desk.questions'))
  const before = topics.version('dashboard.inbox')
  const [one, two] = [await openStream(world), await openStream(world)]
  await until(() => topics.watched('desk.questions'))
  t.ok(topics.version('dashboard.inbox') > before, 'the first page learns of changes before it was opened')
  one.close()
  await once(one, 'close')
  t.ok(topics.watched('desk.questions'), 'another page is still open')
  await world.kernel.replace(sources().desk)
  t.ok(topics.watched('desk.questions'), 'a new generation is watched as well')
  two.close()
  await until(() => !topics.watched('desk.questions'))
  await world.kernel.replace(sources().desk)
  t.notOk(topics.watched('desk.questions'))
})

tap.test('the inbox announces a change when a source does', async t => {
  const { desk, changed } = sources()
  const world = await openWorld({ plugins: [desk] })
  t.teardown(() => world.close())
  const { topics } = world.port
  const reaches = (version: number): Promise<void> => until(() => topics.version('dashboard.inbox') >= version)
  const page = await openStream(world)
  t.teardown(() => page.close())
  await until(() => topics.watched('desk.questions'))
  const seen = topics.version('dashboard.inbox')
  changed()
  t.equal(topics.version('dashboard.inbox'), seen + 1)
  await world.kernel.replace(sources().vault)
  await reaches(seen + 2)
  t.pass('a new source is a change, too')
})

tap.test('search asks all sources', async t => {
  const { desk } = sources()
  const world = await openWorld({ plugins: [desk] })
  t.teardown(() => world.close())
  const viewer = await world.signIn('viewer')
  t.match(await (await viewer.call('dashboard.search', { text: 'rain' })).json(), {
    results: [{ title: 'About rain', kind: 'question', link: '/ui/p/desk', plugin: 'desk' }],
    failed: []
  })
  t.equal((await viewer.call('dashboard.search', { text: '' })).status, 400)
})
