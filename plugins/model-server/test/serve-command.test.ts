import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { CommandIo } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { runServeCommand } from '#root'
import { until } from './until.ts'

const BIN = fileURLToPath(new URL('../bin/svc-model-server.mjs', import.meta.url))

const unbuilt = existsSync(fileURLToPath(new URL('../dist/plugin.cjs', import.meta.url)))
  ? {}
  : { skip: 'the build is missing: npm run build' }

function packageWith(t: Test, program: string): string {
  return t.testdir({ bin: { 'svc-model-server.mjs': program } })
}

function terminal(): CommandIo & { readonly stderr: PassThrough } {
  const { signal } = new AbortController()
  return { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), json: false, signal }
}

t.test('the command starts the server with its flags and ends with its exit code', async t => {
  const folder = packageWith(
    t,
    `import { writeFileSync } from 'node:fs'
     writeFileSync(new URL('../argv.json', import.meta.url), JSON.stringify(process.argv.slice(2)))
     process.exit(7)`
  )
  const run = runServeCommand(folder)
  t.equal(
    await run(
      { model: 'runs/a', port: 0, model_name: 'my model', quant: 'q8', max_tokens: 9, temperature: 0 },
      terminal()
    ),
    7
  )
  t.same(JSON.parse(readFileSync(`${folder}/argv.json`, 'utf8')), [
    'serve',
    ...['--model', resolve('runs/a')],
    ...['--port', '0'],
    ...['--model-name', 'my model'],
    ...['--quant', 'q8'],
    ...['--max-tokens', '9'],
    ...['--temperature', '0']
  ])
})

t.test('forwards a signal to the server, and ends when the server ends', async t => {
  const folder = packageWith(
    t,
    `import { writeFileSync } from 'node:fs'
     const note = name => writeFileSync(new URL('../' + name, import.meta.url), '')
     process.on('SIGTERM', () => { note('told'); process.exit(0) })
     setInterval(() => {}, 1000)
     note('up')`
  )
  const listeners = process.listenerCount('SIGTERM')
  const keepAlive = () => {}
  process.on('SIGTERM', keepAlive)
  const code = runServeCommand(folder)({ model: '.' }, terminal())
  await until(() => existsSync(`${folder}/up`))
  process.kill(process.pid, 'SIGTERM')
  t.equal(await code, 0)
  t.ok(existsSync(`${folder}/told`))
  process.off('SIGTERM', keepAlive)
  t.equal(process.listenerCount('SIGTERM'), listeners)
})

t.test('exits with 128 + n if signal n ended the server, as shells do', async t => {
  const folder = packageWith(t, `process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000)`)
  t.equal(await runServeCommand(folder)({ model: '.' }, terminal()), 128 + 9)
})

t.test('reports an error if the server program is not installed', async t => {
  const io = terminal()
  t.equal(await runServeCommand(t.testdir({}))({ model: '.' }, io), 1)
  io.stderr.end()
  t.match(await text(io.stderr), /svc-model-server\.mjs is missing; install @svc\/plugin-model-server again/)
})

t.test('the program rejects invalid arguments with exit code 2', async t => {
  const refuse = (argv: string[], message: RegExp) => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [BIN, ...argv], { encoding: 'utf8' })
    t.equal(status, 2)
    t.equal(stdout, '')
    t.match(stderr, message)
  }
  const complete = { 'config.json': '', 'tokenizer.json': '', 'model.safetensors': '' }
  const directory = t.testdir({ file: '', empty: {}, half: { 'config.json': '{}', 'model.onnx': '' }, ...complete })
  refuse([], /expected the command serve/)
  refuse(['train'], /expected the command serve/)
  refuse(['serve'], /--model PATH is missing/)
  refuse(['serve', '--model', `${directory}/none`], new RegExp(`run directory ${directory}/none does not exist`))
  refuse(['serve', '--model', `${directory}/file`], /file is neither a directory nor a GGUF file/)
  refuse(['serve', '--model', directory, '--port', 'high'], /--port must be a number, got 'high'/)
  refuse(['serve', '--model', directory, '--quant', 'q5'], /--quant must be one of auto, none, q8, q4, got 'q5'/)
  refuse(['serve', '--modle', directory], /--modle/)
  const missing =
    /empty is no run directory; missing: config\.json, tokenizer\.json, weights \(\*\.safetensors, \*\.gguf or \*\.onnx\)\n/
  refuse(['serve', '--model', `${directory}/empty`], missing)
  refuse(['serve', '--model', `${directory}/half`], /half is no run directory; missing: tokenizer\.json\n/)
})

t.test('the program prints its usage', async t => {
  const child = spawn(process.execPath, [BIN, '--help'])
  t.match(await text(child.stdout), /svc-model-server serve --model PATH.*svc serve --profile model-server/s)
})

t.test('the program exits with an error if the model cannot be loaded', unbuilt, t => {
  const directory = t.testdir({ 'config.json': '{}', 'tokenizer.json': 'broken', 'model.safetensors': '' })
  const argv = [BIN, 'serve', '--model', directory, '--port', '0']
  const { status, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', cwd: directory, timeout: 120_000 })
  t.ok(status !== null && status > 0, `exit code ${status}`)
  t.match(stderr, /MSV_MODEL_FAILED/)
  t.match(stderr, /could not be loaded from .*tokenizer\.json/)
  t.match(stderr, /hint: Repair the run directory or the settings, then start the server again/)
  t.notMatch(stderr, /plugins reload/)
  t.end()
})

t.test('the program serves a GGUF file under its name', unbuilt, async t => {
  const folder = t.testdir({})
  const source = '../../inference-onnx/test/fixtures/gguf/qwen2-q8_0.gguf'
  copyFileSync(fileURLToPath(new URL(source, import.meta.url)), `${folder}/tiny.gguf`)
  const child = spawn(process.execPath, [BIN, 'serve', '--model', 'tiny.gguf', '--port', '0'], { cwd: folder })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  child.stderr.on('data', chunk => {
    output += chunk
  })
  const started = () => /listens on (http:\S+?)"/.exec(output)?.[1]
  await until(() => started() !== undefined && output.includes("model 'tiny' is ready"))
  const post = async (path: string, body: object) =>
    (await fetch(`${started()}${path}`, { method: 'POST', body: JSON.stringify(body) })).json()
  t.match(await post('/api/show', { model: 'tiny' }), { details: { format: 'gguf', family: 'qwen2' } })
  const messages = [{ role: 'user', content: 'hello' }]
  const answer = await post('/v1/chat/completions', { model: 'tiny', messages, max_tokens: 3 })
  t.match(answer, { model: 'tiny', usage: { completion_tokens: Number } })
})
