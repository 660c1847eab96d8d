import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { CommandIo } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { generateCode, runGenerate } from '#generate'
import { openAssistant } from './open-assistant.ts'

const RIGHT = 'fn one() to int {\n    1\n}\n'
const WRONG = 'fn one() to int {\n    nowhere\n}\n'

/** Runs the command on a test terminal. */
async function open(t: Test, answers: readonly string[]) {
  const { kernel } = await openAssistant(t, { database: false, answers })
  const run = runGenerate(
    {
      generate: (input, { emit, signal }) =>
        kernel.call(generateCode, input, { signal, onEvent: event => emit(event as Parameters<typeof emit>[0]) })
    },
    kernel.root
  )
  return {
    root: kernel.root,
    async run(input: object, json = false) {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const { signal } = new AbortController()
      const io = { stdin: new PassThrough(), stdout, stderr, json, signal, self: [] } as unknown as CommandIo
      const code = await run(input as Record<string, unknown>, io)
      stdout.end()
      stderr.end()
      return { code, stdout: await text(stdout), stderr: await text(stderr) }
    }
  }
}

t.test('a program is printed, and progress goes to standard error', async t => {
  const { run } = await open(t, [WRONG, RIGHT])
  const { code, stdout, stderr } = await run({ prompt: 'one' })
  t.equal(code, 0)
  t.equal(stdout, RIGHT)
  t.match(
    stderr,
    /attempt 1 of 3[\s\S]*nowhere[\s\S]*attempt 2 of 3[\s\S]*the compiler accepts it; toy, 2 attempts, 32 tokens/
  )
})

t.test('prints the diff of the output file; --preview writes nothing', async t => {
  const { run, root } = await open(t, [RIGHT])
  const file = join(root, 'a.vox')
  t.match((await run({ prompt: 'one', output: 'a.vox', preview: true })).stdout, /\+fn one\(\) to int/)
  t.notOk(existsSync(file))
  writeFileSync(file, RIGHT.replace('1', '2'))
  const { code, stdout, stderr } = await run({ prompt: 'one', output: 'a.vox' })
  t.equal(code, 0)
  t.match(stdout, /- {4}2\n\+ {4}1\n/)
  t.match(stderr, /wrote a\.vox/)
  t.equal(readFileSync(file, 'utf8'), RIGHT)
})

t.test('rejects a preview of a file that may not be written', async t => {
  const { run } = await open(t, [RIGHT])
  await t.rejects(run({ prompt: 'one', output: '../a.vox', preview: true }), { code: 'ASI_PATH_REFUSED' })
})

t.test('if no program compiles, exits with 1 and prints the diagnostics', async t => {
  const { run } = await open(t, [WRONG])
  const failedRun = await run({ prompt: 'one', retries: 0 })
  t.equal(failedRun.code, 1)
  t.match(failedRun.stderr, /nowhere[\s\S]*the program of toy does not compile after 1 attempt/)
  const { code, stdout } = await run({ prompt: 'one', retries: 0 }, true)
  t.equal(code, 1)
  t.match(JSON.parse(stdout), { valid: false, code: WRONG, data: { attempts: 1 } })
})

t.test('--json prints the result as one JSON document', async t => {
  const { run } = await open(t, [RIGHT])
  const { stdout, stderr } = await run({ prompt: 'one' }, true)
  t.match(JSON.parse(stdout), { code: RIGHT, valid: true })
  for (const line of stderr.trimEnd().split('\n')) t.match(JSON.parse(line), { event: { type: 'attempt' } })
})
