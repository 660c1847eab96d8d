import { once } from 'node:events'
import { Socket } from 'node:net'
import { DeltaLog, defineOperation, definePlugin, deltaOperation, type Plugin, t } from '@svc/plugin-sdk'
import tap, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { type Browser, openWorld, type World } from './world.ts'

interface Row {
  readonly id: string
  readonly text: string
}

const rowsOperation = deltaOperation({
  id: 'source.rows',
  summary: 'Changes of the rows',
  row: t.object({ id: t.string(), text: t.string() }),
  watch: { on: ['source.rows'], minMs: 50 }
})
const countOperation = defineOperation({
  id: 'source.count',
  summary: 'Number of rows',
  effect: 'read',
  input: t.object({ unit: t.string({ default: 'rows' }) }),
  output: t.object({ count: t.integer(), unit: t.string(), padding: t.string() }),
  watch: { on: ['source.rows'], minMs: 50 }
})
const secretOperation = defineOperation({
  id: 'source.secret',
  summary: 'Something that needs a scope',
  effect: 'read',
  scopes: ['source.admin'],
  input: t.object({}),
  output: t.object({ ok: t.boolean() }),
  watch: { on: ['source.rows'] }
})
const plainOperation = defineOperation({
  id: 'source.plain',
  summary: 'Something without topics',
  effect: 'read',
  input: t.object({}),
  output: t.object({ ok: t.boolean() })
})

/** Data that outlives reloads of the plugin, and what the plugin did. */
class Source {
  readonly rows = new Map<string, Row>()
  reads = 0
  padding = ''
  #log = new DeltaLog<Row>()
  #changed: () => void = () => {}

  plugin(): Plugin {
    const log = new DeltaLog<Row>()
    this.#log = log
    for (const row of this.rows.values()) log.set(row.id, row)
    return definePlugin({
      name: 'source',
      operations: [rowsOperation, countOperation, secretOperation, plainOperation],
      activate: ctx => {
        this.#changed = () => ctx.changed('source.rows')
        ctx.implement(rowsOperation, ({ since, limit }) => log.read(since, limit))
        ctx.implement(countOperation, ({ unit }) => {
          this.reads += 1
          return { count: this.rows.size, unit, padding: this.padding }
        })
        ctx.implement(secretOperation, () => ({ ok: true }))
        ctx.implement(plainOperation, () => ({ ok: true }))
      }
    }) as Plugin
  }

  set(id: string, text: string): void {
    this.rows.set(id, { id, text })
    this.#log.set(id, { id, text })
    this.#changed()
  }

  remove(id: string): void {
    this.rows.delete(id)
    this.#log.remove(id)
    this.#changed()
  }

  changed(): void {
    this.#changed()
  }
}

type Frame = Readonly<Record<string, any>>

/** Page on the stream. Acknowledges each frame, unless `acks` is false. */
class Page {
  readonly #world: World
  readonly #browser: Browser
  acks = true
  frames: Frame[] = []
  /** Rows of the subscription 1. */
  readonly rows = new Map<string, string>()
  cursor: string | undefined
  reconnects = 0
  socket!: WebSocket
  #wanted: { readonly operation: string; readonly input: object } | null = null
  closed: Promise<number> = Promise.resolve(0)

  constructor(world: World, browser: Browser) {
    this.#world = world
    this.#browser = browser
  }

  static async open(world: World, browser: Browser, options: { readonly reconnects?: boolean } = {}): Promise<Page> {
    const page = new Page(world, browser)
    await page.connect(options.reconnects === true)
    return page
  }

  async connect(again: boolean): Promise<void> {
    const { cookie, token } = this.#browser
    this.socket = new WebSocket(`${this.#world.origin.replace('http', 'ws')}/ui/stream`, {
      headers: { cookie, origin: this.#world.origin }
    })
    this.socket.on('message', data => this.#receive(JSON.parse(String(data)) as Frame))
    this.closed = once(this.socket, 'close').then(([code]) => code as number)
    await once(this.socket, 'open')
    this.send({ t: 'hello', token, build: 'x' })
    await this.until(frame => frame.t === 'ready')
    if (this.#wanted !== null) this.#subscribe()
    if (!again) return
    void this.closed.then(async code => {
      if (code !== 1012) return
      await this.connect(true)
      this.reconnects += 1
    })
  }

  /** Follows a delta operation, also over reconnections. */
  follow(operation: string, input: object = {}): void {
    this.#wanted = { operation, input }
    this.#subscribe()
  }

  #subscribe(): void {
    this.send({ t: 'sub', id: 1, ...this.#wanted, ...(this.cursor === undefined ? {} : { since: this.cursor }) })
  }

  send(frame: object): void {
    this.socket.send(JSON.stringify(frame))
  }

  #receive(frame: Frame): void {
    this.frames.push(frame)
    if (frame.t !== 'data') return
    if (frame.delta !== undefined) {
      const { reset, upsert, remove, cursor } = frame.delta
      if (reset) this.rows.clear()
      for (const id of remove) this.rows.delete(id)
      for (const row of upsert as Row[]) this.rows.set(row.id, row.text)
      this.cursor = cursor
    }
    if (this.acks) this.send({ t: 'ack', id: frame.id, seq: frame.seq })
  }

  /** Resolves with the first frame, also an earlier one, that meets the condition. */
  async until(condition: (frame: Frame) => unknown): Promise<Frame> {
    for (;;) {
      const found = this.frames.find(condition)
      if (found !== undefined) return found
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }

  async settled(source: Source): Promise<void> {
    const expected = (): string => JSON.stringify([...source.rows.values()].map(({ id, text }) => [id, text]).sort())
    while (JSON.stringify([...this.rows].sort()) !== expected()) await new Promise(resolve => setTimeout(resolve, 5))
  }
}

async function open(t: Test, settings: object = {}) {
  const source = new Source()
  const world = await openWorld({ plugins: [source.plugin()], settings })
  t.teardown(() => world.close())
  return { source, world }
}

tap.test('a page receives the output of a watched operation, and again after a change', async t => {
  const { source, world } = await open(t)
  const page = await Page.open(world, await world.signIn('viewer'))
  t.match(page.frames[0], { t: 'ready', build: String, generation: 1 })
  page.send({ t: 'sub', id: 7, operation: 'source.count', input: {} })
  t.match(await page.until(frame => frame.t === 'data'), { id: 7, seq: 1, value: { count: 0, unit: 'rows' } })
  source.set('a', 'one')
  t.match(await page.until(frame => frame.seq === 2), { id: 7, value: { count: 1 } })
  page.send({ t: 'unsub', id: 7 })
  source.set('b', 'two')
  page.send({ t: 'sub', id: 8, operation: 'source.count', input: { unit: 'items' } })
  t.match(await page.until(frame => frame.id === 8), { value: { count: 2, unit: 'items' } })
  t.notOk(
    page.frames.some(frame => frame.id === 7 && frame.seq === 3),
    'an ended subscription gets nothing'
  )
  page.socket.close()
})

tap.test('equal subscriptions share one read', async t => {
  const { source, world } = await open(t)
  const browsers = [await world.signIn('viewer'), await world.signIn('viewer')]
  const pages = await Promise.all(browsers.map(browser => Page.open(world, browser)))
  for (const page of pages) page.send({ t: 'sub', id: 1, operation: 'source.count', input: { unit: 'x' } })
  await Promise.all(pages.map(page => page.until(frame => frame.t === 'data')))
  const before = source.reads
  source.set('a', 'one')
  await Promise.all(pages.map(page => page.until(frame => frame.seq === 2)))
  t.equal(source.reads, before + 1)
  for (const page of pages) page.socket.close()
})

tap.test('an output that did not change is not sent again', async t => {
  const { source, world } = await open(t)
  const page = await Page.open(world, await world.signIn('viewer'))
  page.send({ t: 'sub', id: 1, operation: 'source.count', input: {} })
  await page.until(frame => frame.t === 'data')
  const { reads } = source
  source.changed()
  while (source.reads === reads) await new Promise(resolve => setTimeout(resolve, 5))
  source.set('a', 'one')
  t.match(await page.until(frame => frame.seq === 2), { value: { count: 1 } })
  page.socket.close()
})

tap.test('errors reach the subscription, and data after them replaces them', async t => {
  const { source, world } = await open(t)
  const page = await Page.open(world, await world.signIn('viewer'))
  const failure = (id: number): Promise<Frame> => page.until(frame => frame.t === 'error' && frame.id === id)
  page.send({ t: 'sub', id: 1, operation: 'source.none', input: {} })
  t.match(await failure(1), { error: { code: 'DSH_OPERATION_UNKNOWN' } })
  page.send({ t: 'sub', id: 2, operation: 'source.plain', input: {} })
  t.match(await failure(2), { error: { code: 'DSH_NOT_WATCHED' } })
  page.send({ t: 'sub', id: 3, operation: 'source.secret', input: {} })
  t.match(await failure(3), { error: { code: 'DSH_ROLE_FORBIDDEN' } })
  page.send({ t: 'sub', id: 4, operation: 'source.count', input: { other: 1 } })
  t.match(await failure(4), { error: { code: 'OPR_INPUT_INVALID' } })
  source.padding = 'x'.repeat(300_000)
  page.send({ t: 'sub', id: 5, operation: 'source.count', input: {} })
  t.match(await failure(5), { error: { code: 'DSH_OUTPUT_TOO_LARGE', hint: /deltaOperation/ } })
  source.padding = ''
  source.changed()
  t.match(await page.until(frame => frame.t === 'data' && frame.id === 5), { value: { count: 0 } })
  for (let id = 6; id <= 64; id += 1) page.send({ t: 'sub', id, operation: 'source.plain', input: {} })
  page.send({ t: 'sub', id: 100, operation: 'source.plain', input: {} })
  t.match(await failure(100), { error: { code: 'DSH_TOO_MANY_SUBSCRIPTIONS' } })
  page.socket.close()
})

tap.test('a delta subscription receives all rows, then changes, and resumes at its cursor', async t => {
  const { source, world } = await open(t)
  for (let index = 0; index < 2_500; index += 1) source.set(`row-${index}`, 'x'.repeat(200))
  const browser = await world.signIn('viewer')
  const page = await Page.open(world, browser)
  page.follow('source.rows')
  await page.settled(source)
  for (const frame of page.frames) t.ok(JSON.stringify(frame).length < 270_000)
  const first = page.frames.filter(frame => frame.t === 'data').length
  source.set('row-1', 'changed')
  source.remove('row-2')
  await page.settled(source)
  const { delta } = page.frames.at(-1) as Frame
  t.match(delta, { reset: false, upsert: [{ id: 'row-1' }], remove: ['row-2'] })
  page.socket.close()
  await page.closed
  source.set('row-3', 'while away')
  const later = await Page.open(world, browser)
  later.cursor = page.cursor
  later.follow('source.rows')
  t.match(await later.until(frame => frame.t === 'data'), { delta: { reset: false, upsert: [{ id: 'row-3' }] } })
  t.ok(first >= 3)
  later.socket.close()
})

tap.test('reloads of the console and of the source lose no row for ten pages', async t => {
  const { source, world } = await open(t)
  const browser = await world.signIn('viewer')
  const pages = await Promise.all(Array.from({ length: 10 }, () => Page.open(world, browser, { reconnects: true })))
  for (const page of pages) page.follow('source.rows')
  let count = 0
  const writing = setInterval(() => {
    for (let index = 0; index < 5; index += 1) source.set(`row-${count++ % 300}`, `text ${count}`)
    if (count % 50 === 0) source.remove(`row-${count % 300}`)
  }, 5)
  for (let round = 0; round < 3; round += 1) {
    await world.reload()
    while (pages.some(page => page.reconnects <= round)) await new Promise(resolve => setTimeout(resolve, 5))
    await world.kernel.replace(source.plugin())
  }
  clearInterval(writing)
  await Promise.all(pages.map(page => page.settled(source)))
  t.pass('every page has exactly the rows of the source')
  for (const page of pages) t.ok(await page.until(frame => frame.t === 'gen'), 'it learns of new generations')
  for (const page of pages) {
    page.reconnects = Number.NEGATIVE_INFINITY
    page.socket.close(1000)
  }
})

tap.test('a page that does not acknowledge gets one frame, and later the last state', async t => {
  const { source, world } = await open(t)
  const page = await Page.open(world, await world.signIn('viewer'))
  page.acks = false
  page.follow('source.rows')
  const first = await page.until(frame => frame.t === 'data')
  for (let index = 0; index < 20_000; index += 1) source.set(`row-${index % 100}`, `${index}`.padEnd(500, 'x'))
  await new Promise(resolve => setTimeout(resolve, 300))
  t.equal(page.frames.filter(frame => frame.t === 'data').length, 1, 'nothing is queued')
  page.acks = true
  page.send({ t: 'ack', id: 1, seq: first.seq })
  await page.settled(source)
  t.ok(page.frames.filter(frame => frame.t === 'data').length < 5)
  page.socket.close()
})

tap.test('a page that reads nothing holds less than 2 MB, and gets everything later', async t => {
  const { source, world } = await open(t)
  source.padding = 'x'.repeat(250_000)
  const page = await Page.open(world, await world.signIn('viewer'))
  page.socket.pause()
  for (let id = 0; id < 64; id += 1) page.send({ t: 'sub', id, operation: 'source.count', input: { unit: `${id}` } })
  const { localPort } = (page.socket as unknown as { readonly _socket: Socket })._socket
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles()
  const server = handles.find(each => each instanceof Socket && each.remotePort === localPort) as Socket
  while (server.writableLength < 1_000_000) await new Promise(resolve => setTimeout(resolve, 5))
  let reads = -1
  while (reads !== source.reads) {
    reads = source.reads
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  t.ok(server.writableLength < 2_000_000, `${server.writableLength} bytes wait`)
  t.ok(reads < 64, 'data for which there is no room is not read')
  page.socket.resume()
  const data = (): number => page.frames.filter(frame => frame.t === 'data').length
  while (data() < 64) await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(source.reads, 64)
  page.socket.close()
})

tap.test('a session has a limited number of pages and subscriptions, so that it cannot fill the memory', async t => {
  const { world } = await open(t)
  const browser = await world.signIn('viewer')
  const pages = await Promise.all(Array.from({ length: 50 }, () => Page.open(world, browser)))
  const refused = new WebSocket(`${world.origin.replace('http', 'ws')}/ui/stream`, {
    headers: { cookie: browser.cookie, origin: world.origin }
  })
  t.match(await once(refused, 'error'), [{ message: /503/ }])
  const other = await Page.open(world, await world.signIn('viewer'))
  for (const page of pages.slice(0, 8))
    for (let id = 0; id < 64; id += 1) page.send({ t: 'sub', id, operation: 'source.count', input: { unit: `${id}` } })
  const isLimit = (frame: Frame): boolean => frame.error?.code === 'DSH_TOO_MANY_SUBSCRIPTIONS'
  const refusals = (): number => pages.flatMap(({ frames }) => frames.filter(isLimit)).length
  while (refusals() < 8 * 64 - 500) await new Promise(resolve => setTimeout(resolve, 5))
  other.send({ t: 'sub', id: 1, operation: 'source.count', input: {} })
  t.match(await other.until(frame => frame.id === 1), { t: 'data' }, 'another session is not affected')
  t.equal(refusals(), 8 * 64 - 500)
  for (const page of [...pages, other]) page.socket.close()
})

tap.test('a message that is far too long, or names an operation that is, ends the connection', async t => {
  const { world } = await open(t)
  const browser = await world.signIn('viewer')
  const [named, long] = [await Page.open(world, browser), await Page.open(world, browser)]
  named.send({ t: 'sub', id: 1, operation: 'x'.repeat(257), input: {} })
  t.equal(await named.closed, 1008)
  long.send({ t: 'sub', id: 1, operation: 'source.count', input: { unit: 'x'.repeat(20_000) } })
  t.equal(await long.closed, 1009)
})

tap.test('a page that asks and does not read is disconnected', async t => {
  const { world } = await open(t)
  const page = await Page.open(world, await world.signIn('viewer'))
  page.send({ t: 'sub', id: 1, operation: 'source.count', input: {} })
  await page.until(frame => frame.t === 'data')
  // Filling a real socket would take many seconds, since the number of messages is limited, too.
  const own = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'bufferedAmount') as PropertyDescriptor
  t.teardown(() => Object.defineProperty(WebSocket.prototype, 'bufferedAmount', own))
  Object.defineProperty(WebSocket.prototype, 'bufferedAmount', { ...own, get: () => 4 * 1_048_576 + 1 })
  // Its error would be sent even to a full socket.
  page.send({ t: 'sub', id: 2, operation: 'source.missing', input: {} })
  t.equal(await page.closed, 1006)
})

tap.test('only a signed-in page of the console may connect', async t => {
  const { world } = await open(t)
  const browser = await world.signIn('viewer')
  const other = await world.signIn('viewer')
  const url = `${world.origin.replace('http', 'ws')}/ui/stream`
  const refused = async (headers: Record<string, string>): Promise<string> => {
    const socket = new WebSocket(url, { headers })
    const [error] = (await once(socket, 'error')) as [Error]
    return error.message
  }
  const { cookie } = browser
  t.match(await refused({ cookie }), /401/, 'without an Origin')
  t.match(await refused({ cookie, origin: 'http://evil.example' }), /403/)
  t.match(await refused({ origin: world.origin }), /401/, 'without a cookie')
  t.match(await refused({ cookie, origin: world.origin, host: 'evil.example' }), /403/)
  const closes = async (frame: object | string): Promise<number> => {
    const socket = new WebSocket(url, { headers: { cookie, origin: world.origin } })
    await once(socket, 'open')
    socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
    const [code] = (await once(socket, 'close')) as [number]
    return code
  }
  t.equal(await closes({ t: 'hello', token: 'wrong' }), 4401)
  t.equal(await closes({ t: 'hello', token: other.token }), 4401, "another session's token")
  t.equal(await closes({ t: 'sub', id: 1, operation: 'source.count', input: {} }), 4401, 'no hello')
  t.equal(await closes('{"t":"hello","t":"hello"}'), 1008)
  const page = await Page.open(world, browser)
  page.socket.send('{')
  t.equal(await page.closed, 1008)
})

tap.test('a session that ends closes its pages', async t => {
  const { world } = await open(t)
  const [browser, owner] = [await world.signIn('viewer'), await world.signIn('owner')]
  const page = await Page.open(world, browser)
  const response = await owner.send('DELETE', `/ui/api/sessions/${browser.session}`)
  t.equal(response.status, 204)
  t.equal(await page.closed, 4401)
  t.equal((await browser.get('/ui/api/session')).status, 401)
})

/** Moves the monotonic clock of this process forward until the end of the test. */
function laterBy(t: Test, milliseconds: number): void {
  const { now } = performance
  performance.now = () => now.call(performance) + milliseconds
  t.teardown(() => {
    performance.now = now
  })
}

tap.test('a page that asks whether the server is there gets an answer', async t => {
  const { world } = await open(t)
  const page = await Page.open(world, await world.signIn('viewer'))
  page.send({ t: 'ping' })
  t.same(await page.until(frame => frame.t === 'pong'), { t: 'pong' })
  page.socket.close()
})

tap.test('a hidden page gets changes rarely, and the last state as soon as it is visible', async t => {
  const { source, world } = await open(t)
  const browser = await world.signIn('viewer')
  const [hidden, visible] = [await Page.open(world, browser), await Page.open(world, browser)]
  for (const page of [hidden, visible]) {
    page.send({ t: 'sub', id: 1, operation: 'source.count', input: {} })
    await page.until(frame => frame.t === 'data')
  }
  hidden.send({ t: 'visible', visible: false })
  // Answered after the message before it.
  hidden.send({ t: 'sub', id: 2, operation: 'source.none', input: {} })
  await hidden.until(frame => frame.t === 'error')
  for (const id of ['a', 'b', 'c']) {
    source.set(id, id)
    await visible.until(frame => frame.value?.count === source.rows.size)
  }
  t.equal(hidden.frames.filter(frame => frame.t === 'data').length, 1)
  hidden.send({ t: 'visible', visible: true })
  t.match(await hidden.until(frame => frame.seq === 2), { value: { count: 3 } })
  for (const page of [hidden, visible]) page.socket.close()
})

tap.test('a visible page that does not acknowledge for 30 seconds is closed; a hidden one is not', async t => {
  const { world } = await open(t)
  const browser = await world.signIn('viewer')
  const [hidden, visible] = [await Page.open(world, browser), await Page.open(world, browser)]
  hidden.send({ t: 'visible', visible: false })
  for (const page of [hidden, visible]) {
    page.acks = false
    page.follow('source.rows')
    await page.until(frame => frame.t === 'data')
  }
  laterBy(t, 31_000)
  t.equal(await visible.closed, 4408)
  t.equal(hidden.socket.readyState, WebSocket.OPEN)
  hidden.socket.close()
})

tap.test('a connection without a hello is closed after 5 seconds', async t => {
  const { world } = await open(t)
  const { cookie } = await world.signIn('viewer')
  const socket = new WebSocket(`${world.origin.replace('http', 'ws')}/ui/stream`, {
    headers: { cookie, origin: world.origin }
  })
  await once(socket, 'open')
  laterBy(t, 6_000)
  t.equal((await once(socket, 'close'))[0], 4401)
})
