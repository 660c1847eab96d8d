import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { CommandIo } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { runChat } from '#chat'
import { ModelServerClient } from '#root'
import { type FakeOptions, type FakeServer, fakeServer } from './fake-server.ts'

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

interface Terminal {
  readonly server: FakeServer
  readonly exit: Promise<unknown>
  readonly controller: AbortController
  type(text: string): void
  /** Resolves when the output since the last call matches. */
  shows(pattern: RegExp): Promise<string>
}

interface Options extends FakeOptions {
  readonly model?: string
  readonly input?: Record<string, unknown>
  readonly tty?: boolean
  readonly json?: boolean
}

async function open(t: Test, options: Options = {}): Promise<Terminal & { stdin: PassThrough; stdout: PassThrough }> {
  const { model = 'toy', input = {}, tty = true, json = false } = options
  const server = await fakeServer(t, options)
  const client = new ModelServerClient(() => ({
    url: server.url,
    api: 'auto',
    model,
    temperature: 0.7,
    max_tokens: 100,
    probe_timeout_ms: 5_000
  }))
  const stdin = Object.assign(new PassThrough(), { isTTY: tty })
  const stdout = Object.assign(new PassThrough(), { isTTY: false, columns: 80 })
  const stderr = new PassThrough()
  const controller = new AbortController()
  const io: CommandIo = { stdin, stdout, stderr, json, signal: controller.signal }
  let seen = ''
  const wake = new Set<() => void>()
  if (tty) {
    stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString()
      for (const each of wake) each()
    })
  }
  const exit = Promise.resolve(runChat(client)(input, io)).finally(() => stdout.end())
  exit.catch(() => undefined)
  t.teardown(() => stdin.end())
  return {
    server,
    exit,
    controller,
    stdin,
    stdout,
    type: typed => void stdin.write(typed),
    shows: pattern =>
      new Promise(resolve => {
        const look = (): void => {
          if (!pattern.test(seen)) return
          wake.delete(look)
          const all = seen
          seen = ''
          resolve(all)
        }
        wake.add(look)
        look()
      })
  }
}

t.test('streams answers, shows their speed and sends the conversation so far', async t => {
  const { type, shows, server, exit } = await open(t)
  await shows(/toy at http:\/\/127.*\/help/)
  type('hello there\n')
  await shows(/hello there\n\[3 tokens in 0\.01 s, 500 tokens\/s, first after \d+\.\d\d s\]/)
  type('and more\n')
  await shows(/and more\n\[3 tokens/)
  t.match(server.seen.at(-1)?.body.messages, [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }])
  type(CTRL_D)
  t.equal(await exit, 0)
})

t.test('Ctrl-C stops only the answer', async t => {
  const { type, shows, server, exit } = await open(t, {
    chat: (_, response) => {
      response.write('{"model":"toy","message":{"role":"assistant","content":"begun"},"done":false}\n')
    }
  })
  type('go on for ever\n')
  await shows(/begun/)
  type(CTRL_C)
  await shows(/\[stopped\]/)
  while (server.left === 0) await new Promise(setImmediate)
  type('/help\n')
  await shows(/Ctrl-C stops an answer/)
  type('/exit\n')
  t.equal(await exit, 0)
})

t.test('Ctrl-C at the prompt clears the line; a second one ends the chat', async t => {
  const { type, shows, exit, server } = await open(t)
  await shows(/>>> /)
  type(`half a question${CTRL_C}`)
  await shows(/Ctrl-C again/)
  type(CTRL_C)
  t.equal(await exit, 0)
  t.notOk(server.seen.some(({ path }) => path === '/api/chat'))
})

t.test('lines between """ fences form one question', async t => {
  const { type, shows, server, exit } = await open(t)
  type('"""first\nsecond"""\n')
  await shows(/\[3 tokens/)
  t.match(server.seen.at(-1)?.body.messages, [{ content: 'first\nsecond' }])
  type(CTRL_D)
  await exit
})

t.test('runs its commands and lists them', async t => {
  const { type, shows, server, exit } = await open(t, { models: ['toy', 'other'] })
  type('/system be brief\n')
  await shows(/system prompt set/)
  type('/models\n')
  await shows(/toy\r?\nother/)
  type('/model nope\n')
  await shows(/"nope".*offers "toy", "other"/)
  type('/model other\n')
  await shows(/model: other/)
  type('hi\n')
  await shows(/\[3 tokens/)
  t.match(server.seen.at(-1)?.body, {
    model: 'other',
    messages: [{ role: 'system', content: 'be brief' }, { content: 'hi' }]
  })
  type('/reset\n/unknown\n')
  await shows(/conversation cleared[\s\S]*\/unknown is not a command/)
  type(CTRL_D)
  await exit
})

t.test('a failed question is reported and not added to the conversation', async t => {
  const { type, shows, server, exit } = await open(t)
  await shows(/>>> /)
  await server.close()
  type('hello\n')
  await shows(/error: .*is not reachable|error: no model server is reachable/)
  type(CTRL_D)
  t.equal(await exit, 0)
})

t.test("uses the server's model if none is chosen", async t => {
  const { shows, type, exit } = await open(t, { model: 'default-model', models: ['only'] })
  await shows(/only at http/)
  type(CTRL_D)
  await exit
})

t.test('answers one question from standard input if there is no terminal', async t => {
  const { stdin, stdout, exit } = await open(t, { tty: false })
  stdin.end('what is it\n')
  t.equal(await text(stdout), 'what is it\n')
  t.equal(await exit, 0)
})

t.test('--json prints every piece and the counts as lines of JSON', async t => {
  const { stdout, exit } = await open(t, { tty: false, json: true, input: { prompt: 'a b' } })
  const lines = (await text(stdout)).trim().split('\n')
  t.match(
    lines.map(line => JSON.parse(line)),
    [
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'a ' },
      { type: 'text', text: 'b' },
      { type: 'done', model: 'toy', stopped: false, usage: { prompt_tokens: 7, completion_tokens: 3 } }
    ]
  )
  t.equal(await exit, 0)
})

t.test('Ctrl-C during a one-off answer exits with 130', async t => {
  const { controller, exit, shows } = await open(t, {
    input: { prompt: 'go' },
    chat: (_, response) =>
      void response.write('{"model":"toy","message":{"role":"assistant","content":"begun"},"done":false}\n')
  })
  await shows(/begun/)
  controller.abort()
  t.equal(await exit, 130)
})

t.test('a missing question is a usage error', async t => {
  const { stdin, exit } = await open(t, { tty: false })
  stdin.end('  \n')
  t.equal(await exit, 2)
})

const PNG = Buffer.from('\x89PNG\r\n\x1a\n0123', 'latin1')

t.test('--image and /image send a file with one question only', async t => {
  const file = join(t.testdir({ 'cat.png': PNG }), 'cat.png')
  const { type, shows, server, exit } = await open(t, { input: { image: [file] } })
  const sent = () => server.seen.at(-1)?.body.messages as { content: string; images?: string[] }[]
  type('first\n')
  await shows(/first\n\[3 tokens/)
  t.same(sent().at(-1)?.images, [PNG.toString('base64')])
  type('second\n')
  await shows(/second\n\[3 tokens/)
  t.equal(sent().at(-1)?.images, undefined)
  t.same(sent()[0]?.images, [PNG.toString('base64')], 'the conversation keeps the image')
  type(`/image ${file}\n`)
  await shows(/images of the next question: 1/)
  type(`/image ${file}.gone\n`)
  await shows(/error: .*cat\.png\.gone: ENOENT/)
  type('third\n')
  await shows(/third\n\[3 tokens/)
  t.same(sent().at(-1)?.images, [PNG.toString('base64')])
  type(CTRL_D)
  t.equal(await exit, 0)
})

t.test('an image that is too large, or no image, is an error that names the file', async t => {
  const folder = t.testdir({ 'a.txt': 'text', 'b.png': Buffer.concat([PNG, Buffer.alloc(5 * 1_048_576)]) })
  for (const [name, message] of [
    ['a.txt', /a\.txt: it is not a PNG, JPEG, GIF or WebP image/],
    ['b.png', /b\.png: it has 5242892 bytes, and at most 5242880 are sent/]
  ] as const) {
    const { exit } = await open(t, { tty: false, input: { prompt: 'what', image: [join(folder, name)] } })
    await t.rejects(exit, { code: 'ICL_IMAGE_INVALID', message })
  }
})

t.test('a local model without vision is refused, with one that has it', async t => {
  const file = join(t.testdir({ 'cat.png': PNG }), 'cat.png')
  const { exit } = await open(t, {
    models: ['toy', 'llava'],
    show: model => ({ capabilities: model === 'llava' ? ['completion', 'vision'] : ['completion'] }),
    tty: false,
    input: { prompt: 'what', image: [file] }
  })
  await t.rejects(exit, {
    code: 'ICL_REFUSED',
    message: /the model "toy" of the server at http:.* does not support images/,
    hint: 'request the model "llava"'
  })
})
