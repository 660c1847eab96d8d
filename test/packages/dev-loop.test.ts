import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Command, DevLoop } from '../../tools/dev-loop.ts'

/** Writes a line to `events` when it starts, and one when it gets SIGINT. */
const SERVER = `process.chdir(import.meta.dirname)
import { appendFileSync, readFileSync } from 'node:fs'
appendFileSync('events', 'serve ' + readFileSync('built', 'utf8').trim() + '\\n')
process.on('SIGINT', () => { appendFileSync('events', 'stopped\\n'); process.exit(0) })
setInterval(() => {}, 1000)
`
/** Copies core/source to built; fails for a source that is "broken". */
const BUILD = `process.chdir(import.meta.dirname)
import { readFileSync, writeFileSync } from 'node:fs'
const text = readFileSync('core/source', 'utf8')
if (text.includes('broken')) process.exit(1)
writeFileSync('built', text)
`
const NOTE = `process.chdir(import.meta.dirname)
import { appendFileSync } from 'node:fs'
appendFileSync('events', process.argv[2] + '\\n')`

function open(t: Test) {
  const root = t.testdir({
    core: { source: 'one' },
    page: { 'main.css': '' },
    built: 'one',
    events: '',
    'server.mjs': SERVER,
    'build.mjs': BUILD,
    'note.mjs': NOTE
  })
  const node = (script: string, ...args: string[]): Command => [process.execPath, join(root, script), ...args]
  const lines: string[] = []
  const loop = new DevLoop({
    root,
    core: [join(root, 'core')],
    build: node('build.mjs'),
    serve: node('server.mjs'),
    pages: [
      {
        plugin: 'console',
        folder: join(root, 'page'),
        build: node('note.mjs', 'page'),
        reload: node('note.mjs', 'reload')
      }
    ],
    log: line => lines.push(line),
    stdio: 'ignore'
  })
  t.teardown(() => loop.kill())
  const events = (): string[] => readFileSync(join(root, 'events'), 'utf8').split('\n').slice(0, -1)
  const until = async (is: () => boolean): Promise<void> => {
    while (!is()) await sleep(20)
  }
  return { root, loop, lines, events, until }
}

t.test('a change of the core builds and restarts the server; a broken one keeps it; Ctrl-C stops it once', async t => {
  const { root, loop, lines, events, until } = open(t)
  const code = loop.run()
  await until(() => events().length === 1)
  t.same(events(), ['serve one'])

  writeFileSync(join(root, 'core', 'source'), 'broken')
  await until(() => lines.some(line => line.includes('the running server stays')))
  t.same(events(), ['serve one'])

  writeFileSync(join(root, 'core', 'source'), 'two')
  await until(() => events().length === 3)
  t.same(events(), ['serve one', 'stopped', 'serve two'])

  loop.signal('SIGINT')
  t.equal(await code, 0)
  t.same(events().slice(3), ['stopped'])
})

t.test('a change of a page builds it and reloads its plugin, without a restart', async t => {
  const { root, loop, events, until } = open(t)
  const code = loop.run()
  await until(() => events().length === 1)
  appendFileSync(join(root, 'page', 'main.css'), 'a {}')
  await until(() => events().length === 3)
  t.same(events(), ['serve one', 'page', 'reload'])
  loop.signal('SIGINT')
  t.equal(await code, 0)
})

t.test('if the first start fails, the loop ends with the exit code of the server', async t => {
  const { root, loop } = open(t)
  writeFileSync(join(root, 'server.mjs'), 'process.exit(3)')
  t.equal(await loop.run(), 3)
  t.ok(existsSync(join(root, 'built')))
})
