import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { checkFile, compilation, descriptionOf, readSources, type SourceFile } from '@svc/plugin-compiler/testing'
import { type CommandHandler, type CommandIo, definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import type { Capability } from '#interpreter'
import { evaluateHandler, evaluateOperation, grantedTo, type Runner, runProgram, runTestFiles } from '#root'
import { runInThread } from '#worker'
import { LIMITS } from './run-program.ts'

const options = { allowComponentFunctions: false, suppressHookLints: false }
const compiler = {
  compile: compilation(async (file: SourceFile, script: boolean) => checkFile(file, { ...options, script })),
  read: (paths: readonly string[]) => readSources(paths, false),
  describe: descriptionOf
}

function runnerOf(limits: Partial<typeof LIMITS> = {}, allowed: readonly Capability[] = ['fs', 'env']): Runner {
  return {
    compiler,
    run: async (program, job, listener, signal) => {
      const capabilities = grantedTo(program, allowed)
      return runInThread(
        { program, ...job, limits: { ...LIMITS, ...limits }, capabilities, database: null },
        listener,
        signal
      )
    }
  }
}

async function execute(
  command: CommandHandler,
  input: Record<string, unknown>,
  { json = false, signal = new AbortController().signal } = {}
) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const io: CommandIo = { stdin, stdout, stderr, json, signal }
  const output = Promise.all([text(stdout), text(stderr)])
  const code = await command(input, io)
  stdout.end()
  stderr.end()
  const [out, err] = await output
  return { code, out, err }
}

const run = runProgram(runnerOf())
const test = runTestFiles(runnerOf(), () => 200)

function file(t: Test, source: string): string {
  return join(t.testdir({ 'program.vox': source }), 'program.vox')
}

t.test('main runs in a separate thread, and receives its arguments', async t => {
  const path = file(t, 'fn main(n: int, who: str = "you") {\n    print(n + 1, who)\n}\n')
  t.same(await execute(run, { file: path, args: ['41'] }), { code: 0, out: '42 you\n', err: '' })
  t.same(await execute(run, { file: path, args: ['1', 'me'] }), { code: 0, out: '2 me\n', err: '' })
  const wrong = await execute(run, { file: path, args: ['x'] })
  t.equal(wrong.code, 1)
  t.match(wrong.err, 'error[RUN_ARGUMENTS]')
  t.match(wrong.err, 'x is not a valid int for the parameter n of main')
})

t.test('a main with one list parameter receives all arguments', async t => {
  const path = file(t, 'fn main(args: List[str]) {\n    print(args)\n}\n')
  t.equal((await execute(run, { file: path, args: ['a', 'b'] })).out, '[a, b]\n')
})

t.test('a returned Error and a failure of main exit with 1', async t => {
  const path = file(t, 'fn main() to Result[int] {\n    print("before")\n    Error("it did not work")\n}\n')
  t.same(await execute(run, { file: path }), { code: 1, out: 'before\n', err: 'error: it did not work\n' })
  const failing = file(t, 'fn main() {\n    print([1][2])\n}\n')
  const { code, err } = await execute(run, { file: failing })
  t.equal(code, 1)
  t.match(err, `error[RUN_INDEX]: ${failing}:2:11: there is no element 2`)
  const { err: json } = await execute(run, { file: failing }, { json: true })
  t.match(JSON.parse(json), { error: { code: 'RUN_INDEX', at: { line: 2, column: 11 } } })
})

t.test('a file with errors and a missing file do not run', async t => {
  const { code, err } = await execute(run, { file: file(t, 'fn main() {\n    print(nothing)\n}\n') })
  t.equal(code, 1)
  t.match(err, 'typecheck.undefined')
  t.match((await execute(run, { file: '/nowhere.vox' })).err, 'CMP_FILE_UNREADABLE')
})

t.test('--script runs top-level statements', async t => {
  t.equal((await execute(run, { file: file(t, 'print(1 + 1)\n'), script: true })).out, '2\n')
})

t.test('Ctrl-C ends a program in an endless loop', async t => {
  const path = file(t, 'fn main() {\n    print("begun")\n    loop { }\n}\n')
  const controller = new AbortController()
  const stdout = new PassThrough()
  const io = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), json: false, signal: controller.signal }
  const ended = runProgram(runnerOf({ steps: 1e15, milliseconds: 1e6 }))({ file: path }, io)
  const [begun] = await once(stdout, 'data')
  t.equal(String(begun), 'begun\n')
  controller.abort()
  t.equal(await ended, 130)
})

t.test('the time limit ends a sleeping program', async t => {
  const path = file(t, 'fn main() {\n    sleep("1h")\n}\n')
  const { code, err } = await execute(runProgram(runnerOf({ milliseconds: 20 })), { file: path })
  t.equal(code, 1)
  t.match(err, 'RUN_TIME_LIMIT')
})

t.test('a program that prints faster than its output is read waits, and loses no output', async t => {
  const path = file(t, 'fn main() {\n    for i in range(20000) { print(i) }\n}\n')
  const { out } = await execute(run, { file: path })
  t.equal(out.trimEnd().split('\n').length, 20_000)
  t.ok(out.endsWith('\n19999\n'))
})

t.test('a capability line can only restrict capabilities', async t => {
  const read = 'fn main() {\n    print(std.fs.exists("/"))\n}\n'
  t.equal((await execute(run, { file: file(t, read) })).out, 'true\n')
  t.match((await execute(run, { file: file(t, `// vox:caps env\n${read}`) })).err, 'RUN_CAPABILITY_DENIED')
  const none = runProgram(runnerOf({}, ['env']))
  t.match((await execute(none, { file: file(t, `// vox:caps fs\n${read}`) })).err, 'RUN_CAPABILITY_DENIED')
})

t.test('a capability line counts only as a comment, and not inside a string', async t => {
  const read = 'fn main() {\n    let text = "\n// vox:caps env\n"\n    print(std.fs.exists("/"), len(text))\n}\n'
  t.match((await execute(run, { file: file(t, read) })).out, 'true 17\n')
  t.match((await execute(run, { file: file(t, `  # vox:caps env, net\n${read}`) })).err, 'RUN_CAPABILITY_DENIED')
})

t.test('an unknown capability is reported', async t => {
  t.throws(() => grantedTo({ path: 'a.vox', capabilities: ['fs', 'files'] }, ['fs']), {
    code: 'RUN_CAPABILITY_DENIED'
  })
  t.same(grantedTo({ path: 'a.vox', capabilities: null }, ['fs', 'secrets']), ['fs'])
  t.same(grantedTo({ path: 'a.vox', capabilities: ['secrets', 'fs'] }, ['fs', 'secrets']), ['fs', 'secrets'])
})

t.test('the same seed produces the same random numbers', async t => {
  const path = file(t, 'fn main() {\n    print(std.random.int(0, 1000000), std.random.float())\n}\n')
  const [first, second] = [await execute(run, { file: path, seed: 7 }), await execute(run, { file: path, seed: 7 })]
  t.equal(first.out, second.out)
  t.not((await execute(run, { file: path, seed: 8 })).out, first.out)
})

const TESTS = `
type Shape =
    | Circle(r: int)
    | Empty

@test("one and one")
fn adds() { assert(1 + 1 is 2) }

@test
fn fails() { assert(1 is 2, "they differ") }

@forall
fn small(n: int, words: List[str]) { assert(n < 50 or len(words) < 2) }

@forall
fn any_shape(s: Shape, o: Option[dec], p: (bool, float)) {
    assert(match s { Circle(_) => true, Empty => true })
}
`

t.test('failed tests are reported with the simplest values and the seed', async t => {
  const path = file(t, TESTS)
  const { code, out } = await execute(test, { files: [path], seed: 5, forall_iterations: 1000 })
  t.equal(code, 1)
  t.match(out, /^ok {6}adds: one and one/m)
  t.match(out, `FAILED  fails\n        ${path}:10:14: they differ [RUN_ASSERTION]`)
  t.match(out, '          n = 50\n          words = ["", ""]\n')
  t.match(out, /^ok {6}any_shape \(\d+ ms, 1000 values\)/m)
  t.match(out, '2 passed, 2 failed; repeat with --seed 5\n')
  const again = await execute(test, { files: [path], seed: 5, filter: 'small' }, { json: true })
  t.match(JSON.parse(again.out), { passed: 0, failed: 1, seed: 5, tests: [{ name: 'small', file: path, ok: false }] })
})

t.test('passing tests exit with 0, and no tests with 1', async t => {
  const path = file(t, TESTS)
  t.equal((await execute(test, { files: [path], filter: 'one and one' })).code, 0)
  t.same(await execute(test, { files: [path], filter: 'nothing' }), { code: 1, out: 'no tests\n', err: '' })
})

t.test('a test that does not end fails only itself', async t => {
  const path = file(t, '@test\nfn a() { loop { } }\n@test\nfn b() { assert(true) }\n')
  const { out } = await execute(
    runTestFiles(runnerOf({ steps: 1000 }), () => 1),
    { files: [path] }
  )
  t.match(out, 'RUN_STEP_LIMIT')
  t.match(out, '1 passed, 1 failed')
})

t.test('a forall reports the simplest failing inputs', async t => {
  const boundary = (type: string, condition: string): string =>
    `type P { x: int y: str }\n@forall\nfn holds(v: ${type}) {\n    assert(${condition})\n}\n`
  const found = async (type: string, condition: string): Promise<string | undefined> => {
    const { out } = await execute(test, {
      files: [file(t, boundary(type, condition))],
      seed: 3,
      forall_iterations: 1000
    })
    return /^ +v = (.*)$/m.exec(out)?.[1]
  }
  t.equal(await found('int', 'v < 123456'), '123456')
  t.equal(await found('int', 'v > -77'), '-77')
  t.equal(await found('List[int]', 'len(v) < 3'), '[0, 0, 0]')
  t.equal(await found('str', 'len(v) < 2'), '"aa"')
  t.equal(await found('dec', 'v < 5dec'), '5dec')
  t.equal(await found('P', 'v.x < 40'), '{ x: 40, y: "" }')
})

t.test('a program run by the operation has no capabilities', async t => {
  const handler = evaluateHandler(compiler, () => LIMITS)
  const call = { signal: new AbortController().signal } as Parameters<typeof handler>[1]
  const answer = (source: string) => handler({ source, args: [], script: false }, call)
  t.same(await answer('fn main() {\n    print(6 * 7)\n}\n'), { ok: true, output: ['42'], cut: false, error: null })
  t.match(await answer('fn main() {\n    print(std.fs.exists("/"))\n}\n'), { error: { code: 'RUN_CAPABILITY_DENIED' } })
  t.match(await answer('fn main() {\n    print(x)\n}\n'), { ok: false, error: { code: null } })
})

t.test('the operation runs four programs at a time, and the others after them', async t => {
  let [running, peak] = [0, 0]
  const runs = definePlugin({
    name: 'runs',
    operations: [evaluateOperation],
    activate: ctx => {
      const handler = evaluateHandler(compiler, () => LIMITS)
      ctx.implement(evaluateOperation, async (input, call) => {
        running += 1
        peak = Math.max(peak, running)
        const output = await handler(input, call)
        running -= 1
        return output
      })
    }
  })
  const kernel = await testKernel([runs])
  t.teardown(() => kernel.close())
  const source = 'fn main() {\n    print(1)\n}\n'
  const answers = await Promise.all(Array.from({ length: 9 }, () => kernel.callById('language.run', { source })))
  t.equal(peak, 4)
  t.same(
    answers,
    answers.map(() => ({ ok: true, output: ['1'], cut: false, error: null }))
  )
})

/** Expected output of the examples with a main. */
const PRINTED: Readonly<Record<string, string>> = {
  'actor.vox': '42\n',
  'hello.vox': 'Hello, world!\n0: 6\n1: 2\n2: 4\n'
}
const examples = join(import.meta.dirname, '..', '..', '..', 'examples', 'language')

t.test('examples with a main print the expected output', async t => {
  for (const [name, printed] of Object.entries(PRINTED)) {
    t.same(await execute(run, { file: join(examples, name) }), { code: 0, out: printed, err: '' }, name)
  }
  const { code, out } = await execute(test, { files: [join(examples, 'tests.vox')] })
  t.equal(code, 0)
  t.equal(
    out.match(/^ok /gm)?.length,
    readFileSync(join(examples, 'tests.vox'), 'utf8').match(/^@(test|forall)/gm)?.length
  )
})
