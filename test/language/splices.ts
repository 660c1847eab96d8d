import { checkFile, SourceFile } from '@svc/plugin-compiler/testing'
import { withTables } from '../../plugins/app-runtime/test/database/with-tables.ts'
import { run } from '../../plugins/app-runtime/test/run-program.ts'
import { PRELUDE } from '../../plugins/compiler/test/language/prelude.ts'
import { RIGHT } from '../../plugins/compiler/test/language/right-programs.ts'
import { expressionsOf, functionOf, type ParameterType } from '../../plugins/compiler/test/language/syntax-parts.ts'
import { randomFrom } from '../../plugins/compiler/test/mutated-source.ts'

/**
 * A search for programs that the checker accepts and that then fail by a type: expressions of right programs are put in
 * the place of others, and what has no finding runs with sample arguments.
 */
export interface SpliceSearch {
  readonly tried: number
  /** Programs without findings, which ran. */
  readonly accepted: number
  /** Programs that ended by a failure that types should prevent. */
  readonly unsound: readonly string[]
}

/** Failures that types prevent, except at a border where the type of a value is unknown. */
const TYPE_FAILURES: ReadonlySet<string> = new Set(['RUN_TYPE', 'RUN_UNDEFINED', 'RUN_UNSUPPORTED'])

/** Findings of programs that may run: they do not concern types. */
const HARMLESS = /^(lint\.(?!db_)|E0301$|typecheck\.match\.)/

/** Parts that need a host, or whose values have no known type. */
const OPEN =
  /component|http |workflow|activity|charge|@(?!query|mutation)|\bstd\b|extern|spawn|import|mobile|\b(any|null|cap)\b|request/

const OF_TABLES = /\bdb\b|\bTask\b|\bPerson\b/

const MAX_PART = 60

const LIMITS = { steps: 200_000, milliseconds: 5_000 }

/** Parts of the prelude that the programs use, and how they run. */
export interface Ground {
  readonly base: string
  /** True for the programs that are spliced. */
  takes(source: string): boolean
  /** The body of `main`, with a call of the spliced function. */
  main(call: string): string
  /** Runs `main`. Returns the code and the message of its failure. */
  run(text: string): { readonly code: string | null; readonly message: string }
}

/** Programs without tables. */
export const PLAIN: Ground = {
  base: PRELUDE.slice(0, PRELUDE.indexOf('@mutation')),
  takes: source => !OPEN.test(source) && !source.includes('@') && !OF_TABLES.test(source),
  main: call => `print(str(${call}))`,
  run(text) {
    const { code, error } = run(text, { limits: LIMITS })
    return { code, message: error?.message ?? '' }
  }
}

/** Programs that use tables with some rows. */
export const WITH_TABLES: Ground = {
  base: PRELUDE.slice(0, PRELUDE.indexOf('component')),
  takes: source => !OPEN.test(source) && OF_TABLES.test(source),
  main: call => `
    let person = db.Person.insert({ name: "a" })
    db.Task.insert({ title: "a", done: true, stars: 1, weight: 1.5, due: None, owner: person, price: 1dec, tags: ["x"] })
    db.Task.insert({ title: "b", done: false, stars: 3, weight: 2.0, due: "d", owner: None, price: 2dec, tags: [] })
    print(str(${call}))`,
  run(text) {
    try {
      // A query runs in a transaction that may write, since it is spliced into.
      withTables(text.replaceAll('@query', '@mutation')).call('main')
      return { code: null, message: '' }
    } catch (error) {
      const { code, message } = error as { readonly code?: string; readonly message: string }
      return { code: code ?? 'crash', message }
    }
  }
}

export function searchSplices(ground: Ground, seed: number, tries: number): SpliceSearch {
  const all = Object.values(RIGHT).flat()
  const programs = all.filter(source => ground.takes(source) && functionOf(source, 'f') !== null)
  const parts = all
    .filter(source => ground.takes(source) || PLAIN.takes(source))
    .flatMap(source => expressionsOf(source, 0).map(({ start, end }) => source.slice(start, end)))
    .filter(text => text.length <= MAX_PART)
  const random = randomFrom(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const unsound: string[] = []
  let accepted = 0
  for (let tried = 0; tried < tries; tried++) {
    let source = pick(programs)
    for (let count = 1 + Math.floor(random() * 2); count > 0; count--) {
      const places = expressionsOf(source, 0)
      if (places.length === 0) break
      const { start, end } = pick(places)
      source = source.slice(0, start) + pick(parts) + source.slice(end)
    }
    const fn = functionOf(source, 'f')
    if (fn === null) continue
    const args = fn.params.map(type => sampleOf(type, pick))
    const text = `${ground.base}${source}\nfn main() { ${ground.main(`f(${args.join(', ')})`)}\n}\n`
    const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
    const { diagnostics } = checkFile(new SourceFile('program.vox', text), options)
    if (diagnostics.some(({ code, severity }) => severity === 'error' || !HARMLESS.test(code))) continue
    accepted++
    const { code, message } = ground.run(text)
    if (code === 'crash' || (code !== null && TYPE_FAILURES.has(code))) {
      unsound.push(`${code}: ${message}\n${text.slice(ground.base.length)}`)
    }
  }
  return { tried: tries, accepted, unsound }
}

/** Returns a value of a type as source text. */
function sampleOf(type: ParameterType, pick: (items: readonly string[]) => string): string {
  const inner = (index: number) => sampleOf(type.args[index] ?? { name: 'int', args: [] }, pick)
  switch (type.name) {
    case 'int':
    case 'Id':
      return pick(['0', '1', '3', '-2'])
    case 'Task':
    case 'Person':
      return `db.${type.name}.get(1).unwrap().unwrap()`
    case 'float':
      return pick(['0.0', '1.5', '2'])
    case 'dec':
      return pick(['1.5dec', '0dec'])
    case 'bool':
      return pick(['true', 'false'])
    case 'List':
      return pick(['[]', `[${inner(0)}]`, `[${inner(0)}, ${inner(0)}]`])
    case 'Map':
      return `{ a: ${inner(1)}, b: ${inner(1)} }`
    case 'Option':
      return pick(['None', `Some(${inner(0)})`])
    case 'Result':
      return pick([`Ok(${inner(0)})`, 'Error("no")'])
    case 'tuple':
      return `(${type.args.map((_, index) => inner(index)).join(', ')})`
    case 'fn':
      return `fn(${type.args
        .slice(1)
        .map((_, index) => `p${index}`)
        .join(', ')}) ${inner(0)}`
    case 'Shape':
      return pick(['Circle(1.5)', 'Rect(1, 2)', 'Empty'])
    case 'Colour':
      return pick(['Red', 'Green', 'Blue'])
    case 'Point':
      return pick(['Point { x: 1 }', 'Point { x: 2, y: 3 }'])
    case 'Box':
      return `Box { value: ${inner(0)} }`
    case 'Tree':
      return pick(['Leaf', `Fork(Leaf, ${inner(0)}, Leaf)`])
    case 'Names':
      return '["a", "b"]'
    default:
      return type.name === 'Unit' ? 'Unit' : pick(['"a"', '"b,c"'])
  }
}
