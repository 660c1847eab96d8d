import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { BIN, Editor } from './editor.ts'

t.test('a server whose client hangs up without a word ends with 1', async t => {
  const editor = await Editor.start(t)
  editor.hangUp()
  t.equal(await editor.ended, 1)
})

t.test('a server whose editor is no more ends', async t => {
  const gone = spawn(process.execPath, ['-e', '0'])
  await once(gone, 'exit')
  const editor = await Editor.start(t, { processId: gone.pid ?? null })
  t.equal(await editor.ended, 1)
})

t.test('there is no transport but the standard streams', t => {
  const { status, stderr } = spawnSync(process.execPath, [BIN, 'lsp', '--no-stdio'], {
    cwd: t.testdir({}),
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  t.equal(status, 2)
  t.match(stderr, 'no transport but standard input and output')
  t.end()
})
