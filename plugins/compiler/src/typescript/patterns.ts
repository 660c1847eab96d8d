import type { Hir } from '@svc/contracts'
import type { EmittedModule } from './module.ts'
import { literal, longInt, propertyKey } from './names.ts'
import { heldText } from './options.ts'
import type { EmittedProgram } from './program.ts'
import { breaks } from './uses.ts'
import { ANY, isNamed } from './value-types.ts'

/** Condition of a pattern, and its bound variables. */
export interface PatternTest {
  readonly tests: readonly string[]
  /** Variables with the code that reads their value. */
  readonly bindings: readonly { readonly local: Hir.LocalId; readonly value: string }[]
}

const NOTHING: PatternTest = { tests: [], bindings: [] }

/** Translates a pattern. `value` is the TypeScript of the matched value; it may be evaluated more than once. */
export function patternTest(pattern: Hir.Pattern, value: string, type: Hir.Type, file: EmittedModule): PatternTest {
  switch (pattern.kind) {
    case 'Wildcard':
      return NOTHING
    case 'Bind':
      return { tests: [], bindings: [{ local: pattern.local, value: typed(value, type, file) }] }
    case 'Literal':
      return test(literalTest(pattern.value, value, type, file))
    case 'Tuple': {
      const items = type.kind === 'tuple' ? type.items : []
      return all(pattern.items.map((item, index) => patternTest(item, `${value}[${index}]`, items[index] ?? ANY, file)))
    }
    case 'Variant':
      return variantTest(pattern, value, type, file)
  }
}

/** Start of the code of a value in an option of an option, or in a part of one. */
const HELD = /^\w+<any>\(/

/** TypeScript narrows no result of a call, so the value in an option has any type until it is bound. */
function typed(value: string, type: Hir.Type, file: EmittedModule): string {
  return HELD.test(value) ? `(${value} as ${file.typeOrAny(type)})` : value
}

type VariantPattern = Extract<Hir.Pattern, { kind: 'Variant' }>

function variantTest({ name, args }: VariantPattern, value: string, type: Hir.Type, file: EmittedModule): PatternTest {
  const own = file.program.variant(name)
  if (own === undefined) return builtinTest(name, args[0], value, type, file)
  const fields = file.program.variantsOf(type)?.find(each => each.name === name)?.fields ?? []
  return all([
    test(`${value}._tag === ${literal(name)}`),
    ...args.map((arg, index) => {
      const [key, fieldType] = fields[index] ?? [`_${index}`, ANY]
      const access = propertyKey(key) === key ? `${value}.${key}` : `${value}[${literal(key)}]`
      return patternTest(arg, access, fieldType, file)
    })
  ])
}

function builtinTest(
  name: string,
  inner: Hir.Pattern | undefined,
  value: string,
  type: Hir.Type,
  file: EmittedModule
): PatternTest {
  const held = type.kind === 'named' ? type.args : []
  const within = (at: string, innerType: Hir.Type = ANY): PatternTest =>
    inner === undefined ? NOTHING : patternTest(inner, at, innerType, file)
  switch (name) {
    case 'Some':
      return all([test(`${value} != null`), within(heldText(file, value, held[0] ?? ANY), held[0])])
    case 'None':
      return test(`${value} == null`)
    case 'Ok':
      return all([test(`${value}._tag === 'Ok'`), within(`${value}.value`, held[0])])
    default:
      return all([test(`${value}._tag === 'Err'`), within(`${value}.value`, held[1])])
  }
}

function literalTest(
  literalValue: Extract<Hir.Pattern, { kind: 'Literal' }>['value'],
  subject: string,
  type: Hir.Type,
  file: EmittedModule
): string {
  switch (literalValue.kind) {
    case 'Bool': {
      const { value } = literalValue
      return isNamed(type, 'bool') ? `${value ? '' : '!'}${subject}` : `${subject} === ${value}`
    }
    case 'Str':
      return `${subject} === ${literal(literalValue.value)}`
    case 'Decimal':
      return `${file.helper('compare_decimals')}(${subject}, ${literal(literalValue.digits)}) === 0`
    default: {
      const { value } = literalValue
      return `${subject} === ${typeof value === 'bigint' ? longInt(value) : value}`
    }
  }
}

/** True for a pattern that every value matches. */
function isIrrefutable(pattern: Hir.Pattern): boolean {
  if (pattern.kind === 'Tuple') return pattern.items.every(isIrrefutable)
  return pattern.kind === 'Wildcard' || pattern.kind === 'Bind'
}

/** True if the variants of the arms cover every value. */
export function covers(arms: readonly Hir.MatchArm[], type: Hir.Type, program: EmittedProgram): boolean {
  const open = arms.filter(arm => arm.guard === null).flatMap(arm => arm.patterns)
  if (open.some(isIrrefutable)) return true
  if (isNamed(type, 'bool')) {
    const values = open.map(
      pattern => pattern.kind === 'Literal' && pattern.value.kind === 'Bool' && pattern.value.value
    )
    return values.includes(true) && values.includes(false)
  }
  const covered = new Set(
    open.flatMap(pattern => (pattern.kind === 'Variant' && pattern.args.every(isIrrefutable) ? [pattern.name] : []))
  )
  const variants = program.variantsOf(type)?.map(({ name }) => name) ?? builtinVariants(type, covered)
  return variants.every(name => covered.has(name))
}

function builtinVariants(type: Hir.Type, covered: ReadonlySet<string>): readonly string[] {
  return isNamed(type, 'Option') || covered.has('Some') ? ['Some', 'None'] : ['Ok', 'Error']
}

const test = (text: string): PatternTest => ({ tests: [text], bindings: [] })

function all(parts: readonly PatternTest[]): PatternTest {
  return { tests: parts.flatMap(each => each.tests), bindings: parts.flatMap(each => each.bindings) }
}

export type ArmTests = readonly (readonly PatternTest[])[]

/** True if the arms only distinguish variants, so that a `switch` does it. */
export function isSwitch(
  arms: readonly Hir.MatchArm[],
  tests: ArmTests,
  type: Hir.Type,
  program: EmittedProgram
): boolean {
  return (
    arms.length > 1 &&
    program.variantsOf(type) !== null &&
    arms.every((arm, index) => {
      const isLast = index === arms.length - 1
      const fits = arm.patterns.every(
        (pattern, at) =>
          (pattern.kind === 'Variant' && tests[index]?.[at]?.tests.length === 1) ||
          (isLast && arm.patterns.length === 1 && isIrrefutable(pattern))
      )
      return fits && arm.guard === null && !breaks(arm.body)
    })
  )
}

/** Returns the variables of an arm with the code of their values. Alternatives may bind them in different places. */
export function bindingsOf(tests: readonly PatternTest[]): [local: Hir.LocalId, value: string][] {
  const [first] = tests
  return (first?.bindings ?? []).map(({ local, value }) => {
    const values = tests.map(test => test.bindings.find(each => each.local === local)?.value ?? value)
    const last = values.at(-1) ?? value
    if (values.every(each => each === last)) return [local, last]
    const choice = values.slice(0, -1).reduceRight((other, each, index) => {
      return `${(tests[index]?.tests ?? []).join(' && ') || 'true'} ? ${each} : ${other}`
    }, last)
    return [local, `(${choice})`]
  })
}
