import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { SVC_BIN } from './served-project.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NEEDED = ['http', 'inference-onnx', 'model-server']

t.test('the profile model-server runs three plugins and loads no code of others', async t => {
  const folder = t.testdir({ 'svc.toml': '', 'files.txt': '' })
  const child = spawn(
    process.execPath,
    [
      `--import=${join(ROOT, 'test/e2e/files-opened.mjs')}`,
      SVC_BIN,
      'serve',
      '--json',
      '--profile',
      'model-server',
      '--set',
      'plugins.model-server.port=0'
    ],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', FILES_OPENED: join(folder, 'files.txt') }
    }
  )
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const url = await new Promise<string>((resolve, reject) => {
    const lines: string[] = []
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      const address = /model-server listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
      if (address !== undefined) resolve(address)
    })
    void ended.then(() => reject(new Error(lines.join('\n'))))
  })
  for (let ready = false; !ready; ) ready = (await fetch(`${url}/ready`)).ok
  const answer = await fetch(`${url}/api/generate`, {
    method: 'POST',
    body: JSON.stringify({ prompt: 'hello', stream: false, options: { num_predict: 4 } })
  })
  t.equal(answer.status, 200)
  child.kill('SIGTERM')
  t.same((await ended)[0], 0)

  const opened = readFileSync(join(folder, 'files.txt'), 'utf8')
    .split('\n')
    .filter(path => path.startsWith(join(ROOT, 'plugins')))
  const code = opened.map(path => relative(join(ROOT, 'plugins'), path)).filter(path => /\.(cjs|mjs|js|ts)$/.test(path))
  t.ok(code.includes('http/dist/plugin.cjs'), 'the trace contains loaded code')
  t.same(
    code.filter(path => !NEEDED.includes(path.split('/')[0] ?? '')),
    []
  )
})
