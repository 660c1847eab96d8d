import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { BIN, Editor } from './editor.ts'

t.test('the server exits with 1 if its client disconnects without a shutdown request', async t => {
  const editor = await Editor.start(t)
  editor.hangUp()
  t.equal(await editor.ended, 1)
})

t.test('the server exits when the process of its editor has ended', async t => {
  const gone = spawn(process.execPath, ['-e', '0'])
  await once(gone, 'exit')
  const editor = await Editor.start(t, { processId: gone.pid ?? null })
  t.equal(await editor.ended, 1)
})

t.test('a transport other than the standard streams is rejected', t => {
  const { status, stderr } = spawnSync(process.execPath, [BIN, 'lsp', '--no-stdio'], {
    cwd: t.testdir({}),
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  t.equal(status, 2)
  t.match(stderr, 'standard input and output are the only transport')
  t.end()
})
