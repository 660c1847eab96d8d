/**
 * Measures the stub check on a generated repository of Python and TypeScript files, cold and without a cache, and semgrep with
 * equivalent rules on the same files.
 *
 *   node --import tsx --conditions=svc-source bench/stub-check.ts [--files 10000] [--rounds 3] [--threads 2] [--no-peer] [--json]
 *
 * semgrep is taken from the virtual environment in SVC_BENCH_SEMGREP, or from one that this program makes with Python's venv
 * and pip below the temporary folder. Without it, only the stub check is measured. Needs `npm run build`.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type ScanOptions, ScanPool } from '../plugins/stub-check/src/index.ts'
import { type Figure, figureOf, ratioOf, withRange } from './figures.ts'
import { isSmoke } from './smoke-mode.ts'

const run = promisify(execFile)
const { values } = parseArgs({
  options: {
    files: { type: 'string', default: isSmoke ? '200' : '10000' },
    rounds: { type: 'string', default: isSmoke ? '1' : '3' },
    threads: { type: 'string', default: '2' },
    'no-peer': { type: 'boolean', default: isSmoke },
    /** Prints the result only. */
    json: { type: 'boolean', default: false }
  }
})
const say = (text: string): void => {
  if (!values.json) console.log(text)
}

/** Rules of both tools: the patterns of semgrep find what these rules find. */
const SHARED_RULES = [
  'stub',
  'rust',
  'scaling/http-without-timeout',
  'scaling/blocking-in-async',
  'ai-laziness/conditional-stub',
  'arch/empty_body'
]

const SEMGREP_RULES = `rules:
  - {id: not-implemented, languages: [python], severity: ERROR, message: stub, pattern: "def $F(...):\\n    raise NotImplementedError"}
  - {id: not-implemented-call, languages: [python], severity: ERROR, message: stub, pattern: "def $F(...):\\n    raise NotImplementedError(...)"}
  - {id: ellipsis, languages: [python], severity: ERROR, message: stub, pattern: "def $F(...):\\n    pass"}
  - {id: throw, languages: [typescript, javascript], severity: ERROR, message: stub, pattern-regex: "throw new Error\\\\(.(?i:not (yet )?implemented)"}
  - {id: todo, languages: [generic], severity: ERROR, message: todo, pattern-regex: "\\\\b(TODO|FIXME)\\\\b", paths: {include: ["*.py", "*.ts"]}}
  - {id: http, languages: [python], severity: WARNING, message: timeout, patterns: [{pattern: "requests.$M(...)"}, {pattern-not: "requests.$M(..., timeout=$T, ...)"}]}
  - {id: blocking, languages: [python], severity: WARNING, message: blocking, patterns: [{pattern: "time.sleep(...)"}, {pattern-inside: "async def $F(...): ..."}]}
  - {id: fetch, languages: [typescript, javascript], severity: WARNING, message: timeout, pattern: "fetch($URL)"}
  - {id: empty-if, languages: [typescript, javascript], severity: WARNING, message: empty, pattern: "if ($C) {}"}
`

/** A file of about 100 lines with a few findings, different for each number. */
function fileOf(at: number): { readonly name: string; readonly text: string } {
  const isPython = at % 2 === 0
  const functions = Array.from({ length: 12 }, (_, index) =>
    isPython ? pythonFunction(at, index) : scriptFunction(at, index)
  )
  const head = isPython ? 'import time\nimport requests\n\n' : "import { readFile } from 'node:fs/promises'\n\n"
  return { name: `pkg${at % 100}/m${at}.${isPython ? 'py' : 'ts'}`, text: head + functions.join('\n') }
}

function pythonFunction(at: number, index: number): string {
  if ((at + index) % 97 === 0) return `def undone_${index}(value):\n    raise NotImplementedError\n\n`
  if ((at + index) % 89 === 0) return `def ask_${index}(url):\n    return requests.get(url + "/${at}")\n\n`
  return `def total_${index}(rows, factor=${index}):
    """Sums the rows ${at}."""
    result = 0
    for row in rows:
        if row.amount > ${at % 50} and row.kind != "refund_${index}":
            result += row.amount * factor + ${at}
        else:
            result -= row.fee
    return {"result": result, "count": len(rows), "kind": "total_${index}"}

`
}

function scriptFunction(at: number, index: number): string {
  if ((at + index) % 97 === 0)
    return `export function undone${index}(): number {\n  throw new Error('not implemented')\n}\n`
  if ((at + index) % 89 === 0) return `export const ask${index} = (url: string) => fetch(url)\n`
  return `export async function total${index}(rows: readonly { amount: number; fee: number }[], factor = ${index}): Promise<number> {
  const text = await readFile('rates-${at}.json', 'utf8')
  let result = text.length
  for (const row of rows) {
    if (row.amount > ${at % 50}) result += row.amount * factor + ${at}
    else result -= row.fee
  }
  return result
}
`
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-stub-check-'))
const paths: string[] = []
let bytes = 0
for (let at = 0; at < Number(values.files); at++) {
  const { name, text } = fileOf(at)
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
  paths.push(name)
  bytes += text.length
}

const threads = Number(values.threads)
const options = (rules: readonly string[] | null): ScanOptions => ({
  rules,
  withoutRules: [],
  requiresRationale: false,
  project: rules === null,
  parseMs: 5_000
})

async function measureOwn(
  rules: readonly string[] | null
): Promise<{ seconds: number; cpu: number; findings: number }> {
  const pool = new ScanPool(() => ({ threads, maxBytes: 1_048_576, fileMs: 10_000 }))
  const cpuBefore = process.cpuUsage()
  const started = performance.now()
  const results = await pool.scan(
    paths.map(path => ({ path, at: join(folder, path) })),
    options(rules)
  )
  const seconds = (performance.now() - started) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  await pool.close()
  return {
    seconds,
    cpu: (user + system) / 1e6,
    findings: results.reduce((sum, { findings }) => sum + findings.length, 0)
  }
}

/** Returns the path of semgrep's program; null, with the reason on the standard error. */
function findSemgrep(): string | null {
  if (values['no-peer']) return null
  const environment = process.env.SVC_BENCH_SEMGREP ?? join(tmpdir(), 'svc-bench-semgrep')
  const program = join(environment, 'bin', 'semgrep')
  try {
    if (!existsSync(program)) {
      execFileSync('python3', ['-m', 'venv', environment], { stdio: 'ignore' })
      execFileSync(join(environment, 'bin', 'pip'), ['install', '--quiet', 'semgrep==1.185.0'], {
        stdio: 'ignore',
        timeout: 300_000
      })
    }
    return program
  } catch (error) {
    console.error(`semgrep is left out: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`)
    return null
  }
}

async function measureSemgrep(program: string): Promise<{ seconds: number; findings: number }> {
  const rules = join(folder, 'rules.yaml')
  writeFileSync(rules, SEMGREP_RULES)
  const output = join(folder, 'semgrep.json')
  const started = performance.now()
  await run(
    program,
    [
      'scan',
      '--config',
      rules,
      '--metrics',
      'off',
      '--disable-version-check',
      '--no-git-ignore',
      '--jobs',
      String(threads),
      '--json',
      '--output',
      output,
      '--quiet',
      folder
    ],
    {
      env: { ...process.env, SEMGREP_SEND_METRICS: 'off', PATH: `${dirname(program)}:${process.env.PATH}` },
      maxBuffer: 2 ** 28,
      timeout: 1_800_000
    }
  )
  const seconds = (performance.now() - started) / 1_000
  const { results } = JSON.parse(readFileSync(output, 'utf8')) as { results: readonly unknown[] }
  return { seconds, findings: results.length }
}

export interface Result {
  readonly files: number
  readonly megabytes: number
  readonly all: Figure
  /** CPU seconds of all threads with all rules: what a busy machine does not change. */
  readonly cpu: Figure
  readonly shared: Figure
  readonly semgrep: Figure | null
  readonly toSemgrep: Figure | null
}

try {
  const semgrep = findSemgrep()
  const all: number[] = []
  const shared: number[] = []
  const others: number[] = []
  const cpu: number[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const own = await measureOwn(null)
    const same = await measureOwn(SHARED_RULES)
    all.push(own.seconds)
    shared.push(same.seconds)
    cpu.push(own.cpu)
    const peer = semgrep === null ? null : await measureSemgrep(semgrep)
    if (peer !== null) others.push(peer.seconds)
    const peerText = peer === null ? '' : `, semgrep ${peer.seconds.toFixed(2)} s (${peer.findings} findings)`
    say(
      `round ${round + 1}: all rules ${own.seconds.toFixed(2)} s (${own.findings} findings), shared rules ${same.seconds.toFixed(2)} s (${same.findings} findings)${peerText}`
    )
  }
  const result: Result = {
    files: paths.length,
    megabytes: bytes / 1e6,
    all: figureOf(all),
    cpu: figureOf(cpu),
    shared: figureOf(shared),
    semgrep: others.length === 0 ? null : figureOf(others),
    toSemgrep: others.length === 0 ? null : ratioOf(others, shared)
  }
  say(
    `${result.files} files, ${result.megabytes.toFixed(1)} MB, ${threads} threads: ${withRange(result.all, ' s')} with all rules, ${withRange(result.cpu, ' s')} of CPU time`
  )
  if (result.toSemgrep !== null)
    say(`semgrep takes ${withRange(result.toSemgrep, 'x')} of the time with equivalent rules`)
  console.log(JSON.stringify(result))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
