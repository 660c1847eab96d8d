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

/** A program of generics and lambdas: nearly all types are inferred. */
const genericUnit = (n: number): string => `// Trees of kind ${n}.
type Tree${n}[T] =
    | Leaf${n}(value: T)
    | Node${n}(left: Tree${n}[T], right: Tree${n}[T])

fn map_${n}[A, B](tree: Tree${n}[A], f: fn(A) to B) to Tree${n}[B] {
    match tree {
        Leaf${n}(value) => Leaf${n}(f(value))
        Node${n}(left, right) => Node${n}(map_${n}(left, f), map_${n}(right, f))
    }
}

fn fold_${n}[A, B](tree: Tree${n}[A], leaf: fn(A) to B, node: fn(B, B) to B) to B {
    match tree {
        Leaf${n}(value) => leaf(value)
        Node${n}(left, right) => node(fold_${n}(left, leaf, node), fold_${n}(right, leaf, node))
    }
}

fn summary_${n}(words: List[str]) {
    let lengths = words.map(fn(word) (word, len(word)))
    let long = lengths.filter(fn(pair) pair.1 > 3)
    { total: long.fold(0, fn(sum, pair) sum + pair.1), first: long.map(fn(pair) pair.0).first() }
}

fn size_${n}(words: List[str]) to int {
    let trees = words.map(fn(word) Leaf${n}(word))
    let sizes = trees.map(fn(tree) map_${n}(tree, fn(word) len(word)))
    sizes.fold(summary_${n}(words).total, fn(sum, tree) sum + fold_${n}(tree, fn(value) value, fn(a, b) a + b))
}

`

const typescriptGenericUnit = (n: number): string => `// Trees of kind ${n}.
export type Tree${n}<T> =
    | { kind: 'Leaf'; value: T }
    | { kind: 'Node'; left: Tree${n}<T>; right: Tree${n}<T> }

export function map_${n}<A, B>(tree: Tree${n}<A>, f: (value: A) => B): Tree${n}<B> {
    switch (tree.kind) {
        case 'Leaf': return { kind: 'Leaf', value: f(tree.value) }
        case 'Node': return { kind: 'Node', left: map_${n}(tree.left, f), right: map_${n}(tree.right, f) }
    }
}

export function fold_${n}<A, B>(tree: Tree${n}<A>, leaf: (value: A) => B, node: (a: B, b: B) => B): B {
    switch (tree.kind) {
        case 'Leaf': return leaf(tree.value)
        case 'Node': return node(fold_${n}(tree.left, leaf, node), fold_${n}(tree.right, leaf, node))
    }
}

export function summary_${n}(words: string[]) {
    const lengths = words.map(word => [word, word.length] as const)
    const long = lengths.filter(pair => pair[1] > 3)
    return { total: long.reduce((sum, pair) => sum + pair[1], 0), first: long.map(pair => pair[0])[0] }
}

export function size_${n}(words: string[]): number {
    const trees = words.map((word): Tree${n}<string> => ({ kind: 'Leaf', value: word }))
    const sizes = trees.map(tree => map_${n}(tree, word => word.length))
    return sizes.reduce((sum, tree) => sum + fold_${n}(tree, value => value, (a, b) => a + b), summary_${n}(words).total)
}

`

/** Program that runs a script with its code cache, or writes the cache if there is no other argument. */
const STARTER = `
const { readFileSync, writeFileSync } = require('node:fs')
const { Script } = require('node:vm')
const [, , file, program] = process.argv
const text = '(function (require) {' + readFileSync(file, 'utf8') + '\\n})'
const cachedData = program === undefined ? undefined : readFileSync(file + '.v8')
const script = new Script(text, { filename: file, cachedData })
if (script.cachedDataRejected) throw new Error('V8 rejects the code cache')
if (program === undefined) writeFileSync(file + '.v8', script.createCachedData())
else {
  if (process.versions.v8.startsWith('11.')) require('node:v8').setFlagsFromString('--interrupt-budget=500000')
  script.runInThisContext()(require)
}
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
  writeFileSync(join(folder, 'generic.vox'), repeated(genericUnit))
  writeFileSync(join(folder, 'generic.ts'), repeated(typescriptGenericUnit))
  const entry = `
    import { readFileSync } from 'node:fs'
    import { checkFile } from ${JSON.stringify(join(ROOT, 'plugins/compiler/src/compile.ts'))}
    import { SourceFile } from ${JSON.stringify(join(ROOT, 'plugins/compiler/src/source-file.ts'))}
    const path = process.argv[3]
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
  // The checker starts as the kernel loads plugins, with V8's code cache of its text, and runs as its single commands do:
  // V8 optimises functions later (kernel/src/cli/late-optimisation.ts).
  const starter = join(folder, 'start.cjs')
  writeFileSync(starter, STARTER)
  execFileSync(process.execPath, [starter, checker])
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const compilerOptions = { noEmit: true, strict: true, target: 'es2022', module: 'esnext', types: [] }
  for (const name of ['program', 'generic']) {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ compilerOptions, files: [`${name}.ts`] }))
  }
  const ours = (name: string) => () => execFileSync(process.execPath, [starter, checker, join(folder, `${name}.vox`)])
  const theirs = (name: string) => () => execFileSync(process.execPath, [tsc, '-p', join(folder, `${name}.json`)])
  const nothing = () => execFileSync(process.execPath, ['-e', '0'])

  const times: Record<'ours' | 'theirs' | 'oursGeneric' | 'theirsGeneric' | 'node', number[]> = {
    ours: [],
    theirs: [],
    oursGeneric: [],
    theirsGeneric: [],
    node: []
  }
  for (let round = 0; round < rounds; round++) {
    times.ours.push(milliseconds(ours('program')))
    times.theirs.push(milliseconds(theirs('program')))
    times.oursGeneric.push(milliseconds(ours('generic')))
    times.theirsGeneric.push(milliseconds(theirs('generic')))
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
    check_over_tsc: ratioOf(times.ours, times.theirs),
    check_generics_process_ms: figureOf(times.oursGeneric),
    check_generics_over_tsc: ratioOf(times.oursGeneric, times.theirsGeneric)
  }
  console.log(values.json ? JSON.stringify({ results }) : results)
} finally {
  rmSync(folder, { recursive: true })
}
