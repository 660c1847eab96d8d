/**
 * Speed of the interpreter: fib(27) and a loop of a million iterations. The peer is QuickJS, compiled to WebAssembly,
 * with the same programs in JavaScript, in the same process. Rounds alternate between both; the median is reported.
 * Above 1.0, the interpreter is faster.
 *
 *   node --import tsx --conditions=svc-source bench/interpreter.ts [--json] [--rounds 9]
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { Interpreter } from '../plugins/app-runtime/src/interpreter/interpreter.ts'
import { checkFile } from '../plugins/compiler/src/compile.ts'
import { programOf } from '../plugins/compiler/src/program.ts'
import { SourceFile } from '../plugins/compiler/src/source-file.ts'
import { figureOf, ratioOf, withRange } from './figures.ts'
import { SILENT_HOST } from './silent-host.ts'
import { isSmoke } from './smoke-mode.ts'

const PEER = 'quickjs-emscripten@0.31.0'
/** Folder for the peer, which is not a dependency of the project; not under version control. */
const scratch = join(import.meta.dirname, '..', '.vox', 'bench', 'quickjs')
const LIMITS = { steps: 1e12, milliseconds: 1e9, bytes: 2 ** 31, depth: 1000 }

const { values } = parseArgs({ options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '9' } } })
const rounds = Number(values.rounds)

const TASKS = [
  {
    task: 'fib(27)',
    source: `fn fib(n: int) to int {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}
fn main() to int { fib(27) }
`,
    script: 'function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }\nfib(27)'
  },
  {
    task: 'loop of 1,000,000 iterations',
    source: `fn main() to int {
    let mut i = 0
    let mut sum = 0
    while i < 1000000 {
        sum += i
        i += 1
    }
    sum
}
`,
    script: '(() => { let i = 0, sum = 0; while (i < 1000000) { sum += i; i += 1 } return sum })()'
  }
] as const

interface QuickJs {
  newContext(): {
    evalCode(code: string): { value?: unknown; error?: unknown }
    unwrapResult(result: unknown): Handle
    getNumber(handle: Handle): number
  }
}

interface Handle {
  dispose(): void
}

async function quickJs(): Promise<QuickJs> {
  if (!existsSync(join(scratch, 'node_modules', 'quickjs-emscripten'))) {
    await mkdir(scratch, { recursive: true })
    await writeFile(join(scratch, 'package.json'), '{"private":true}')
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', PEER], { cwd: scratch })
  }
  const { getQuickJS } = createRequire(join(scratch, 'package.json'))('quickjs-emscripten')
  return getQuickJS()
}

function milliseconds(run: () => void): number {
  const began = performance.now()
  run()
  return performance.now() - began
}

const context = isSmoke ? null : (await quickJs()).newContext()

/** Warm-up program that uses many forms of the language: a serving process has run other programs before too. */
const WARM_UP = `fn main() {
    let mut total = 0.5
    for x, i in [1, 2, 3] { total += x * 0.5 - i }
    let words = ["a", "bc"].map(fn(w) w + "!").filter(fn(w) len(w) > 1)
    let mut money = 1dec
    for n in range(2000) {
        money = money + 0.01dec
        match n % 3 { 0 => total += 1, 1 if words is ["x"] => total -= 1, _ => total = total / 2 }
        let record = { n: n, next: { text: str(n) } }
        if record.next.text < "5" and record.n >= 2 { total += record.n }
    }
}
`

const program = (source: string): Interpreter => {
  const file = new SourceFile('bench.vox', source)
  const checked = checkFile(file, { script: false, allowComponentFunctions: false, suppressHookLints: false })
  return new Interpreter(programOf(checked), SILENT_HOST)
}

for (let round = 0; round < 20; round++) program(WARM_UP).call('main', [], LIMITS)

const results = TASKS.map(({ task, source, script }) => {
  const interpreter = program(source)
  const [own, peer]: [number[], number[]] = [[], []]
  const answers: unknown[] = []
  for (let round = 0; round < rounds; round++) {
    own.push(milliseconds(() => answers.push(interpreter.call('main', [], LIMITS))))
    if (context === null) continue
    peer.push(
      milliseconds(() => {
        const handle = context.unwrapResult(context.evalCode(script))
        answers.push(context.getNumber(handle))
        handle.dispose()
      })
    )
  }
  if (new Set(answers).size !== 1) throw new Error(`${task}: the results differ: ${[...new Set(answers)].join(', ')}`)
  return {
    task,
    own_ms: figureOf(own),
    quickjs_ms: figureOf(peer),
    ratio: context === null ? null : ratioOf(peer, own)
  }
})

if (values.json) console.log(JSON.stringify({ peer: PEER, rounds, results }))
else {
  for (const { task, own_ms, quickjs_ms, ratio } of results) {
    console.log(
      `${task}: ${withRange(own_ms, ' ms')}, QuickJS ${ratio === null ? 'not measured' : `${withRange(quickjs_ms, ' ms')}, ${withRange(ratio, 'x')}`}`
    )
  }
}
