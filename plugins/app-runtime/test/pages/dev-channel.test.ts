import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkFile, programOf, SourceFile } from '@svc/plugin-compiler/testing'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { DevChannel, type DevMessage, failedCall, type PageProblem, routeList, withElement } from '#pages'

const PROBLEM: PageProblem = {
  title: 'app.vox has errors',
  text: 'the key s3cret is wrong',
  code: 'RUN_PANIC',
  hint: 'change s3cret',
  calls: ['f("s3cret")'],
  requestId: 'r-1'
}

async function opened(t: Test): Promise<{ channel: DevChannel; connect: () => Promise<Page> }> {
  const channel = new DevChannel(text => text.replaceAll('s3cret', '***'))
  const server = createServer()
  server.on('upgrade', (request, socket, head) => channel.connect(request, socket, head))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    channel.close()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const connect = async (): Promise<Page> => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`)
    const messages: DevMessage[] = []
    const waiting: (() => void)[] = []
    socket.on('message', data => {
      messages.push(JSON.parse(String(data)) as DevMessage)
      waiting.shift()?.()
    })
    const closed = once(socket, 'close')
    t.teardown(() => socket.terminate())
    return {
      closed,
      send: text => socket.send(text),
      async next() {
        if (messages.length === 0) await new Promise<void>(resolve => waiting.push(resolve))
        return messages.shift() as DevMessage
      }
    }
  }
  return { channel, connect }
}

interface Page {
  send(text: string): void
  next(): Promise<DevMessage>
  readonly closed: Promise<unknown[]>
}

t.test('a page gets the served version, then each problem and its end, without secrets', async t => {
  const { channel, connect } = await opened(t)
  channel.serve('v1', 'a remark', null)
  const page = await connect()
  t.same(await page.next(), { type: 'state', build: 'v1', problem: null, notice: 'a remark' })
  t.equal(channel.isStale, false)
  channel.refuse(PROBLEM)
  const masked = { ...PROBLEM, text: 'the key *** is wrong', hint: 'change ***', calls: ['f("***")'] }
  t.same(await page.next(), { type: 'state', build: 'v1', problem: masked, notice: 'a remark' })
  t.equal(channel.isStale, true)
  channel.serve('v2', null, null)
  t.same(await page.next(), { type: 'state', build: 'v2', problem: null, notice: null })
  t.equal(channel.isStale, false)
})

t.test('a page that connects after a failed call gets it, until another version is served', async t => {
  const { channel, connect } = await opened(t)
  channel.serve('v1', null, null)
  for (let n = 1; n <= 25; n++) channel.fail({ ...PROBLEM, requestId: `r-${n}` })
  const page = await connect()
  t.match(await page.next(), { type: 'state' })
  for (let n = 6; n <= 25; n++) t.match(await page.next(), { type: 'failure', failure: { requestId: `r-${n}` } })
  channel.serve('v2', null, null)
  const later = await connect()
  t.match(await later.next(), { type: 'state', build: 'v2' })
  channel.fail(PROBLEM)
  t.match(await later.next(), { type: 'failure', failure: { requestId: 'r-1' } }, 'no earlier failure')
})

t.test('many failures with long texts do not disconnect a page', async t => {
  const { channel, connect } = await opened(t)
  channel.serve('v1', null, null)
  const long = '日本'.repeat(500_000)
  const failed = { ...PROBLEM, title: long, text: long, hint: long, calls: Array.from({ length: 1_000 }, () => long) }
  for (let count = 0; count < 30; count++) channel.fail({ ...failed, requestId: `r-${count}` })
  const page = await connect()
  t.match(await page.next(), { type: 'state' })
  for (let count = 10; count < 30; count++)
    t.match(await page.next(), { type: 'failure', failure: { requestId: `r-${count}`, text: /^(日本)+…$/ } })
})

t.test('the number of pages and the size of their messages are limited', async t => {
  const { connect } = await opened(t)
  for (let n = 0; n < 100; n++) await (await connect()).next()
  const [code] = await (await connect()).closed
  t.equal(code, 1013)
  const page = await (await opened(t)).connect()
  await page.next()
  page.send('x'.repeat(2_000))
  t.equal((await page.closed)[0], 1009)
})

const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
const programFrom = (text: string) => programOf(checkFile(new SourceFile('/project/app.vox', text), options))

t.test('a failed call has an excerpt of the program', t => {
  const program = programFrom('fn f() to int {\n\tlet a = [1]\n\ta[3]\n}\n')
  const failure = { code: 'RUN_INDEX', message: '/project/app.vox:3:4: there is no element 3', calls: ['f at 3:4'] }
  const { title, text, calls } = failedCall(program, 'server f', failure, 'r-1')
  t.equal(title, 'server f failed')
  t.same(calls, ['f at 3:4'])
  t.equal(text, `${failure.message}\n\n1 | fn f() to int {\n2 | \tlet a = [1]\n3 | \ta[3]\n  | \t  ^\n4 | }\n5 | `)
  const elsewhere = { ...failure, message: 'the thread ended' }
  t.equal(failedCall(program, 'server f', elsewhere, 'r-1').text, 'the thread ended')
  t.end()
})

t.test('the list of routes shows texts of the program as text', t => {
  const program = programFrom('@mcp.tool("<script>alert(1)</script>")\nfn say(text: str) to str { text }\n')
  const page = routeList({
    program,
    others: [{ method: 'GET', path: '/<b>', summary: '"quoted" & <i>' }],
    devBuild: 'v1',
    consoleUrl: 'http://127.0.0.1:1/?"<>'
  })
  t.match(page, '&lt;script&gt;alert(1)&lt;/script&gt;')
  t.match(page, '/&lt;b&gt;')
  t.match(page, '&quot;quoted&quot; &amp; &lt;i&gt;')
  t.match(page, 'href="http://127.0.0.1:1/?&quot;&lt;&gt;"')
  t.same(page.match(/<script[^>]*>/g), ['<script type="module" src="/@svc/dev.js?build=v1">'])
  t.match(
    routeList({ program: programFrom('fn f() { }\n'), others: [], devBuild: 'v1', consoleUrl: null }),
    'has no routes'
  )
  t.end()
})

t.test('an element is added to the head of a document, or to its end', t => {
  t.equal(withElement('<head><title>a</title></HEAD ><body>', '<b>'), '<head><title>a</title><b></HEAD ><body>')
  t.equal(withElement('<p>a', '<b>'), '<p>a<b>')
  t.end()
})
