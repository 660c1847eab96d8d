/**
 * Speed of the compiler's front end: lines per second of lexer and parser, and the time of a process that checks a
 * program of 10,000 lines. The peer is `tsc --noEmit` on a TypeScript file with the same declarations. Rounds alternate
 * between the processes; the median of all rounds is reported.
 *
 *   node --import tsx --conditions=svc-source bench/compiler.ts [--json] [--rounds 5]
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildSync } from 'esbuild'
import { format } from '../plugins/compiler/src/format/format.ts'
import { lex } from '../plugins/compiler/src/syntax/lexer.ts'
import { parse } from '../plugins/compiler/src/syntax/parse.ts'
import { figureOf, median, ratioOf } from './figures.ts'

const LINES = 10_000
const ROOT = fileURLToPath(new URL('..', import.meta.url))

const { values } = parseArgs({ options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)

const programUnit = (n: number): string => `// Orders of customer group ${n}.
@table
type Order${n} {
    customer: str
    amount: int
    paid: bool
    note: Option[str]
}

type State${n} =
    | Open${n}(since: int)
    | Paid${n}(amount: int, by: str)
    | Closed${n}

fn total_${n}(amounts: List[int], discount: int) to int {
    let mut sum = 0
    for amount in amounts {
        if amount > discount and amount isnt 0 {
            sum += amount * 2 - discount / 3
        } else {
            sum += amount
        }
    }
    sum
}

fn label_${n}(state: State${n}) to str {
    match state {
        Open${n}(since) => "open since " + str(since)
        Paid${n}(amount, by) => "paid " + str(amount) + " by " + by
        Closed${n} => "closed"
    }
}

@query
fn orders_${n}(customer: str, least: int) to List[Order${n}] {
    db.Order${n}.where({ customer: customer, amount: { gte: least } }).order_by("amount", "desc").limit(10)
}

@mutation
fn add_order_${n}(customer: str, amount: int) to Result[int] {
    let id = db.Order${n}.insert({ customer: customer, amount: amount, paid: false, note: None })?
    Ok(id)
}
`

const typescriptUnit = (n: number): string => `// Orders of customer group ${n}.
export interface Order${n} {
    _id: number
    customer: string
    amount: number
    paid: boolean
    note: string | null
}

export type State${n} =
    | { kind: 'Open'; since: number }
    | { kind: 'Paid'; amount: number; by: string }
    | { kind: 'Closed' }

export function total_${n}(amounts: number[], discount: number): number {
    let sum = 0
    for (const amount of amounts) {
        if (amount > discount && amount !== 0) {
            sum += amount * 2 - discount / 3
        } else {
            sum += amount
        }
    }
    return sum
}

export function label_${n}(state: State${n}): string {
    switch (state.kind) {
        case 'Open': return 'open since ' + String(state.since)
        case 'Paid': return 'paid ' + String(state.amount) + ' by ' + state.by
        case 'Closed': return 'closed'
    }
}

declare const table${n}: Table<Order${n}>
export function orders_${n}(customer: string, least: number): Order${n}[] {
    return table${n}.where({ customer: customer, amount: { gte: least } }).order_by('amount', 'desc').limit(10)
}

export function add_order_${n}(customer: string, amount: number): Result<number> {
    const id = table${n}.insert({ customer: customer, amount: amount, paid: false, note: null })
    if (!id.ok) return id
    return { ok: true, value: id.value }
}

`

const TYPESCRIPT_HEAD = `type Result<T> = { ok: true; value: T } | { ok: false; error: string }
type Condition<T> = { [K in keyof T]?: T[K] | { gte: T[K] } }
interface Rows<T> { order_by(column: keyof T, order: 'asc' | 'desc'): Rows<T>; limit(n: number): T[] }
interface Table<T> { where(condition: Condition<T>): Rows<T>; insert(row: Omit<T, '_id'>): Result<number> }
`

function repeated(unit: (n: number) => string): string {
  const count = Math.ceil(LINES / (unit(0).split('\n').length - 1))
  return Array.from({ length: count }, (_, n) => unit(n)).join('')
}

function milliseconds(run: () => unknown): number {
  const began = performance.now()
  run()
  return performance.now() - began
}

function timesOf(run: () => unknown, times: number): number[] {
  return Array.from({ length: times }, () => milliseconds(run))
}

const program = repeated(programUnit)
const lines = program.split('\n').length - 1
const typescript = TYPESCRIPT_HEAD + repeated(typescriptUnit)

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-compiler-'))
try {
  writeFileSync(join(folder, 'program.vox'), program)
  writeFileSync(join(folder, 'program.ts'), typescript)
  const entry = `
    import { readFileSync } from 'node:fs'
    import { checkFile } from ${JSON.stringify(join(ROOT, 'plugins/compiler/src/compile.ts'))}
    import { SourceFile } from ${JSON.stringify(join(ROOT, 'plugins/compiler/src/source-file.ts'))}
    const path = process.argv[2]
    const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
    const { diagnostics } = checkFile(new SourceFile(path, readFileSync(path, 'utf8')), options)
    process.exit(diagnostics.some(each => each.severity === 'error') ? 1 : 0)`
  const checker = join(folder, 'check.cjs')
  buildSync({
    stdin: { contents: entry, resolveDir: ROOT, loader: 'ts' },
    bundle: true,
    platform: 'node',
    conditions: ['svc-source'],
    outfile: checker
  })
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const compilerOptions = { noEmit: true, strict: true, target: 'es2022', module: 'esnext', types: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  const ours = () => execFileSync(process.execPath, [checker, join(folder, 'program.vox')])
  const theirs = () => execFileSync(process.execPath, [tsc, '-p', folder])
  const nothing = () => execFileSync(process.execPath, ['-e', '0'])

  const times = { ours: [] as number[], theirs: [] as number[], node: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    times.ours.push(milliseconds(ours))
    times.theirs.push(milliseconds(theirs))
    times.node.push(milliseconds(nothing))
  }

  const parsed = parse(program)
  const perSecond = (run: () => unknown): number => Math.round((lines / median(timesOf(run, rounds * 6))) * 1000)
  const results = {
    lines,
    typescript_lines: typescript.split('\n').length - 1,
    lex_lines_per_second: perSecond(() => lex(program)),
    parse_lines_per_second: perSecond(() => parse(program)),
    format_lines_per_second: perSecond(() => format(parsed)),
    check_process_ms: figureOf(times.ours),
    tsc_process_ms: figureOf(times.theirs),
    bare_node_ms: figureOf(times.node),
    check_over_tsc: ratioOf(times.ours, times.theirs)
  }
  console.log(values.json ? JSON.stringify({ results }) : results)
} finally {
  rmSync(folder, { recursive: true })
}
