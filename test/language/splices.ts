import { checkFile, SourceFile } from '@svc/plugin-compiler/testing'
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
const TYPE_FAILURES: ReadonlySet<string> = new Set(['RUN_TYPE', 'RUN_UNDEFINED', 'RUN_ARGUMENTS', 'RUN_UNSUPPORTED'])

/** Findings of programs that may run: they do not concern types. */
const HARMLESS = /^(lint\.|E0301$|typecheck\.match\.)/

/** Parts that need a host, or whose values have no known type. */
const OPEN =
  /\bdb\.|component|http |workflow|activity|charge|@|\bstd\b|extern|spawn|import|mobile|\bany\b|\bnull\b|request/

const MAX_PART = 60

const LIMITS = { steps: 200_000, milliseconds: 5_000 }

export function searchSplices(seed: number, tries: number): SpliceSearch {
  const base = PRELUDE.slice(0, PRELUDE.indexOf('@mutation'))
  const programs = Object.values(RIGHT)
    .flat()
    .filter(source => !OPEN.test(source) && functionOf(source, 'f') !== null)
  const parts = programs
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
    const text = `${base}${source}\nfn main() { print(str(f(${args.join(', ')}))) }\n`
    const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
    const { diagnostics } = checkFile(new SourceFile('program.vox', text), options)
    if (diagnostics.some(({ code, severity }) => severity === 'error' || !HARMLESS.test(code))) continue
    accepted++
    const { code, error } = run(text, { limits: LIMITS })
    if (code !== null && TYPE_FAILURES.has(code)) unsound.push(`${code}: ${error?.message}\n${text.slice(base.length)}`)
  }
  return { tried: tries, accepted, unsound }
}

/** Returns a value of a type as source text. */
function sampleOf(type: ParameterType, pick: (items: readonly string[]) => string): string {
  const inner = (index: number) => sampleOf(type.args[index] ?? { name: 'int', args: [] }, pick)
  switch (type.name) {
    case 'int':
      return pick(['0', '1', '3', '-2'])
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
