import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Expression, parse } from '#syntax'
import { BOOL, type Coverage, coverage, INT, named, option, result, type Type, type TypeDef, tuple } from '#types'

type MatchArm = Extract<Expression, { kind: 'Match' }>['arms'][number]
type Pattern = MatchArm['patterns'][number]

/** A type with at most `MAX_VALUES` values, which are written as patterns. `OTHER` stands for all ints but 0 and 1. */
interface SmallType {
  readonly type: Type
  readonly values: readonly string[]
}

const MAX_VALUES = 60
const OTHER = '7'

const VARIANTS: TypeDef = {
  kind: 'variants',
  name: 'Sign',
  generics: [],
  declaration: null,
  fields: null,
  variants: null
}
const COLOUR: TypeDef = { ...VARIANTS, name: 'Colour' }
COLOUR.variants = ['Red', 'Green', 'Blue'].map(name => ({ name, def: COLOUR, fields: [], isRecord: false, span: null }))
const BOX: TypeDef = { ...VARIANTS, name: 'Box' }
const field = (type: Type) => ({ name: 'x', type, isOptional: false, field: null })
BOX.variants = [
  { name: 'Full', def: BOX, fields: [field(BOOL), field(named(COLOUR))], isRecord: false, span: null },
  { name: 'Void', def: BOX, fields: [], isRecord: false, span: null }
]

const COLOURS = ['Red', 'Green', 'Blue']
const BOOLS = ['true', 'false']
const LEAVES: readonly SmallType[] = [
  { type: BOOL, values: BOOLS },
  { type: INT, values: ['0', '1', OTHER] },
  { type: named(COLOUR), values: COLOURS },
  {
    type: named(BOX),
    values: ['Void', ...BOOLS.flatMap(flag => COLOURS.map(colour => `Full(${flag}, ${colour})`))]
  }
]

const both = (a: SmallType, b: SmallType): SmallType => ({
  type: tuple([a.type, b.type]),
  values: a.values.flatMap(x => b.values.map(y => `(${x}, ${y})`))
})

const smallType: fc.Arbitrary<SmallType> = fc
  .letrec<{ any: SmallType }>(tie => ({
    any: fc.oneof(
      { depthSize: 'small', maxDepth: 3 },
      fc.constantFrom(...LEAVES),
      tie('any').map(({ type, values }) => ({
        type: option(type),
        values: ['None', ...values.map(value => `Some(${value})`)]
      })),
      fc.tuple(tie('any'), tie('any')).map(([ok, error]) => ({
        type: result(ok.type, error.type),
        values: [...ok.values.map(value => `Ok(${value})`), ...error.values.map(value => `Error(${value})`)]
      })),
      fc.tuple(tie('any'), tie('any')).map(([a, b]) => both(a, b))
    )
  }))
  .any.filter(({ values }) => values.length <= MAX_VALUES)

const parsedPattern = (text: string): Pattern => patternsOf([text])[0] as Pattern

function patternsOf(texts: readonly string[]): Pattern[] {
  return armsOf(texts.map(pattern => ({ pattern, isGuarded: false }))).flatMap(({ patterns }) => patterns)
}

interface ArmText {
  readonly pattern: string
  readonly isGuarded: boolean
}

function armsOf(arms: readonly ArmText[]) {
  const lines = arms.map(({ pattern, isGuarded }) => `${pattern}${isGuarded ? ' if g' : ''} => 1`)
  const { module, diagnostics } = parse(`fn f() { match x {\n${lines.join('\n')}\n} }`)
  const [item] = module.items
  const statement = item?.kind === 'Function' ? item.body?.statements[0] : undefined
  const found = statement?.kind === 'ExpressionStatement' ? statement.expression : undefined
  if (found?.kind !== 'Match' || diagnostics.length > 0) throw new Error(`not a match: ${lines.join('; ')}`)
  return found.arms
}

/** Generates patterns by hiding parts of values behind `_` or a name. */
function patternOf(value: string): fc.Arbitrary<string> {
  const parsed = parsedPattern(value)
  const print = (pattern: Pattern): fc.Arbitrary<string> => {
    const open = fc.constantFrom('_', 'name')
    const parts =
      pattern.kind === 'TuplePattern' ? pattern.items : pattern.kind === 'ConstructorPattern' ? pattern.args : null
    const name = pattern.kind === 'ConstructorPattern' ? pattern.name.text : ''
    const exact: fc.Arbitrary<string> =
      parts === null
        ? fc.constant(pattern.kind === 'ConstructorPattern' ? name : textOf(pattern))
        : fc.tuple(...parts.map(print)).map(inner => `${name}(${inner.join(', ')})`)
    if (pattern.kind === 'LiteralPattern' && textOf(pattern) === OTHER) return open
    return fc.oneof({ weight: 1, arbitrary: open }, { weight: 2, arbitrary: exact })
  }
  return print(parsed)
}

function textOf(pattern: Pattern): string {
  if (pattern.kind !== 'LiteralPattern') return '_'
  const { value } = pattern
  return value.kind === 'Bool' ? String(value.value) : value.kind === 'Int' ? value.digits : '_'
}

function matches(value: Pattern, pattern: Pattern): boolean {
  if (pattern.kind === 'WildcardPattern' || pattern.kind === 'BindingPattern') return true
  if (pattern.kind === 'LiteralPattern') return textOf(pattern) === textOf(value)
  if (pattern.kind === 'TuplePattern') {
    return (
      value.kind === 'TuplePattern' &&
      pattern.items.every((part, index) => matches(value.items[index] as Pattern, part))
    )
  }
  if (value.kind !== 'ConstructorPattern' || value.name.text !== pattern.name.text) return false
  return (pattern.args ?? []).every((part, index) => matches((value.args ?? [])[index] as Pattern, part))
}

const matchOf = smallType.chain(({ type, values }) =>
  fc.record({
    type: fc.constant(type),
    values: fc.constant(values),
    arms: fc.array(
      fc.constantFrom(...values).chain(value => fc.record({ pattern: patternOf(value), isGuarded: fc.boolean() })),
      { minLength: 1, maxLength: 8 }
    )
  })
)

const run = (type: Type, arms: readonly ArmText[]): Coverage => coverage(type, armsOf(arms), () => undefined)

t.test('missing cases and unreachable patterns are those that enumeration finds', async () => {
  fc.assert(
    fc.property(matchOf, ({ type, values, arms }) => {
      const { missing, redundant } = run(type, arms)
      const certain = arms.flatMap(({ pattern, isGuarded }) => (isGuarded ? [] : patternsOf([pattern])))
      const all = values.map(parsedPattern)
      const uncovered = all.filter(value => !certain.some(pattern => matches(value, pattern)))
      assert.equal(missing.length > 0, uncovered.length > 0, arms.map(({ pattern }) => pattern).join(' '))
      // Each missing case stands for values that no arm matches, and different cases for different values.
      for (const witness of missing) {
        const shown = parsedPattern(witness.text)
        assert.ok(
          uncovered.some(value => matches(value, shown)),
          witness.text
        )
      }
      const expected = arms.flatMap(({ pattern }, index) => {
        const before = arms.slice(0, index).flatMap(arm => (arm.isGuarded ? [] : patternsOf([arm.pattern])))
        const own = parsedPattern(pattern)
        const left = all.filter(value => matches(value, own) && !before.some(other => matches(value, other)))
        return left.length === 0 ? [index] : []
      })
      const starts = armsOf(arms).map(arm => arm.patterns[0]?.start)
      assert.deepEqual(
        redundant.map(({ start }) => starts.indexOf(start)),
        expected,
        arms.map(({ pattern }) => pattern).join(' ')
      )
    }),
    { numRuns: 2_000 }
  )
})

t.test('at most three missing cases are listed', async t => {
  const { missing, hasMore } = run(tuple([named(COLOUR), named(COLOUR)]), [{ pattern: '(Red, Red)', isGuarded: false }])
  t.same(
    missing.map(({ text }) => text),
    ['(Red, Green)', '(Red, Blue)', '(Green, _)']
  )
  t.equal(hasMore, true)
})

t.test('a match whose matrix is too large counts as exhaustive', async t => {
  const wide = tuple(Array.from({ length: 40 }, () => BOOL))
  const arms = Array.from({ length: 40 }, (_, hidden) => ({
    pattern: `(${Array.from({ length: 40 }, (__, index) => (index === hidden ? 'true' : '_')).join(', ')})`,
    isGuarded: false
  }))
  const started = process.cpuUsage().user
  t.same(run(wide, arms).redundant, [])
  t.ok(process.cpuUsage().user - started < 5_000_000)
})

t.test('long matches on literals take linear time', async t => {
  const arms = Array.from({ length: 20_000 }, (_, index) => ({ pattern: String(index), isGuarded: false }))
  const { missing, redundant } = run(INT, [...arms, { pattern: '7', isGuarded: false }])
  t.same(missing, [{ text: '_', isClosed: false }])
  t.equal(redundant.length, 1)
})
