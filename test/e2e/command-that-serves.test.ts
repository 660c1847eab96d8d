import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { makeProject, pluginPackage, SVC_BIN } from './served-project.ts'

const GREETER = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const greet = defineOperation({
  id: 'greeter.greet', summary: 'Greet', input: t.object({}), output: t.object({ text: t.string() }), effect: 'read',
  expose: { http: { method: 'GET', path: '/greet' } }
})

export default definePlugin({
  name: 'greeter',
  config: t.object({ word: t.string({ default: 'hello', description: 'What it says' }) }),
  operations: [greet],
  commands: [
    { command: 'greeter run', summary: 'Greet until Ctrl-C', input: t.object({ word: t.string() }), args: ['word'] }
  ],
  activate(ctx) {
    ctx.implement(greet, () => ({ text: ctx.config.word }))
    ctx.command('greeter run', ({ word }, io) => {
      if (word === 'nothing') return 3
      io.stdout.write('it begins\\n')
      return { only: ['http', 'greeter'], set: { 'plugins.http.port': 0, 'plugins.greeter.word': word } }
    })
  }
})
`

const folder = makeProject(t, {
  'plugins/greeter/package.json': pluginPackage('greeter'),
  'plugins/greeter/src/plugin.ts': GREETER
})

function run(t: Test, word: string): { readonly child: ChildProcess; readonly ended: Promise<unknown[]> } {
  const child = spawn(process.execPath, [SVC_BIN, '--json', 'greeter', 'run', word], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, ended }
}

t.test('a command may become a server with its own settings, and ends like svc serve', async t => {
  const word = 'so, "quoted" = \\ and ü'
  const { child, ended } = run(t, word)
  const [said] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  t.equal(String(said), 'it begins\n')
  let url = ''
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    url = /main listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] ?? url
    if (/"msg":"generation 1"/.test(line)) break
  }
  const response = await fetch(`${url}/greet`)
  t.same(await response.json(), { text: word })
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})

t.test('a command that may serve can also end with an exit code', async t => {
  const { ended } = run(t, 'nothing')
  t.same(await ended, [3, null])
})
