import { type Doc, hardline, indent, join } from '../../doc/doc.ts'
import type { Expression, Match, MatchArm, StringLiteral } from '../../syntax/ast-expressions.ts'
import type { ConstructorPattern, Pattern } from '../../syntax/ast-statements.ts'
import { bare } from '../../syntax/entries.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import { type AnyNode, walk } from '../../syntax/walk.ts'
import { block, Level, operand } from '../../typescript/code.ts'
import { literal } from '../../typescript/names.ts'
import type { ValueType } from '../value-types/type.ts'
import type { Sink } from './function-translator.ts'
import { breaks } from './needs-statements.ts'
import { type PatternTest, patternTest } from './patterns.ts'
import { StatementTranslator } from './statement-translator.ts'
import { isGeneric, isPlain } from './value-types.ts'

/** Translates `match`: to a switch if the arms only distinguish variants, else to a chain of conditions. */
export abstract class MatchTranslator extends StatementTranslator {
  protected matchInto({ subject, arms }: Match, sink: Sink): void {
    const made = this.expression(subject)
    const type = this.typeOf(subject)
    const isTuple = bare(subject).kind === 'Tuple'
    const value = this.named(isTuple ? { ...made, doc: [made.doc, ' as const'] } : made, 'value')
    const read = arms.map(arm => arm.patterns.map(pattern => patternTest(pattern, value, type, this.program)))
    if (this.#isSwitch(arms, read, type)) this.#switch(value, arms, read, type, sink)
    else this.#conditions(arms, read, type, sink)
  }

  #isSwitch(arms: readonly MatchArm[], read: readonly (readonly PatternTest[])[], type: ValueType): boolean {
    return (
      arms.length > 1 &&
      type.kind === 'declared' &&
      arms.every((arm, index) => {
        const isLast = index === arms.length - 1
        const fits = arm.patterns.every(
          (pattern, at) =>
            (pattern.kind === 'ConstructorPattern' && read[index]?.[at]?.tests.length === 1) ||
            (isLast && arm.patterns.length === 1 && isIrrefutable(pattern))
        )
        return fits && arm.guard === null && !breaks(arm.body)
      })
    )
  }

  #switch(
    value: string,
    arms: readonly MatchArm[],
    read: readonly (readonly PatternTest[])[],
    type: ValueType,
    sink: Sink
  ): void {
    const cases = arms.map((arm, index): Doc => {
      const labels = arm.patterns.map(pattern =>
        pattern.kind === 'ConstructorPattern' ? `case ${literal(pattern.name.text)}: ` : 'default: '
      )
      const statements = this.#arm(arm, read[index]?.[0] as PatternTest, sink)
      if (!ends(statements.at(-1))) statements.push('break')
      return [join(hardline, labels), block(statements)]
    })
    if (!covers(arms, type, this.program.names)) cases.push(['default: ', block([this.#noArm()])])
    this.out.push([`switch (${value}._tag) {`, indent([hardline, join(hardline, cases)]), hardline, '}'])
  }

  #conditions(arms: readonly MatchArm[], read: readonly (readonly PatternTest[])[], type: ValueType, sink: Sink): void {
    const isCovered = covers(arms, type, this.program.names)
    const parts: Doc[] = []
    let isOpen = true
    for (const [index, arm] of arms.entries()) {
      const tests = read[index] as readonly PatternTest[]
      const first = tests[0] as PatternTest
      const isLast = index === arms.length - 1
      const test = this.#test(arm, tests)
      const isElse = test === null || (isLast && isCovered && arm.guard === null)
      if (index === 0 && isElse) {
        this.out.push(...this.withinBlock(() => this.#armBody(arm, first, sink)))
        return
      }
      const statements = this.#arm(arm, first, sink)
      const body = block(statements)
      if (isElse && statements.length === 0) {
        isOpen = false
        break
      }
      parts.push(index === 0 ? '' : ' else ', isElse ? '' : ['if (', test as Doc, ') '], body)
      if (isElse) {
        isOpen = false
        break
      }
    }
    if (isOpen) parts.push(parts.length === 0 ? '' : ' else ', block([this.#noArm()]))
    this.out.push(parts)
  }

  #noArm(): Doc {
    return `${this.helper('panic')}('no arm of a match matches the value')`
  }

  /** Returns the condition of an arm; null if the arm always matches. */
  #test({ guard }: MatchArm, tests: readonly PatternTest[]): Doc | null {
    const joined = tests.map(each => each.tests.join(' && '))
    const isAlways = joined.includes('')
    const pattern = isAlways
      ? null
      : joined.length === 1
        ? (joined[0] as string)
        : joined.map(each => (each.includes(' && ') ? `(${each})` : each)).join(' || ')
    if (guard === null) return pattern
    const { scope } = this
    this.scope = scope.inner()
    // The variables of the pattern are not bound yet.
    for (const { name, value, type } of tests[0]?.bindings ?? []) this.scope.declare(name, { type, as: value })
    const condition = operand(this.closed(guard), Level.and)
    this.scope = scope
    if (pattern === null) return condition
    return [joined.length === 1 ? pattern : `(${pattern})`, ' && ', condition]
  }

  #arm(arm: MatchArm, test: PatternTest, sink: Sink): Doc[] {
    return this.within(() => this.#armBody(arm, test, sink))
  }

  #armBody({ body }: MatchArm, { bindings }: PatternTest, sink: Sink): void {
    for (const { name, value, type } of bindings) {
      if (!mentions(body, name)) continue
      const local = this.scope.declare(name, { type })
      this.out.push(`const ${local.name} = ${value}`)
    }
    if (isStatement(body)) this.statement(body, sink)
    else this.into(body, sink)
  }
}

/** True if code uses a variable, also in a placeholder of a view string. */
function mentions(body: AnyNode, name: string): boolean {
  let found = false
  walk(body, node => {
    if (node.kind === 'Identifier' && (node as Extract<Expression, { kind: 'Identifier' }>).name === name) found = true
    if (node.kind === 'String' && (node as StringLiteral).value.includes(`{${name}`)) found = true
    // The short form of an entry has no separate value.
    if (node.kind === 'ObjectEntry') {
      const { key, value } = node as Extract<Expression, { kind: 'Object' }>['entries'][number]
      if (value === null && 'text' in key && key.text === name) found = true
    }
    return !found
  })
  return found
}

function isIrrefutable(pattern: Pattern): boolean {
  if (pattern.kind === 'TuplePattern') return pattern.items.every(isIrrefutable)
  return pattern.kind === 'WildcardPattern' || pattern.kind === 'BindingPattern'
}

/** True if the variants of the arms cover every value. */
function covers(arms: readonly MatchArm[], type: ValueType, names: MatchTranslator['program']['names']): boolean {
  const open = arms.filter(arm => arm.guard === null).flatMap(arm => arm.patterns)
  if (open.some(isIrrefutable)) return true
  const constructors = open.filter(
    (pattern): pattern is ConstructorPattern =>
      pattern.kind === 'ConstructorPattern' && (pattern.args ?? []).every(isIrrefutable)
  )
  const covered = new Set(constructors.map(({ name }) => (name.text === 'Error' ? 'Err' : name.text)))
  const has = (...all: readonly string[]): boolean => all.every(each => covered.has(each))
  if (isPlain(type, 'bool')) {
    const values = open.map(
      pattern => pattern.kind === 'LiteralPattern' && pattern.value.kind === 'Bool' && pattern.value.value
    )
    return open.length > 1 && values.includes(true) && values.includes(false)
  }
  const [first] = constructors
  const variants = first === undefined ? [] : (names.get(first.name.text)?.variants ?? [])
  if (variants.length > 0) return has(...variants.map(each => each.name.text))
  if (isGeneric(type, 'Option') || covered.has('Some')) return has('Some', 'None')
  return has('Ok', 'Err')
}

function ends(statement: Doc | undefined): boolean {
  if (statement === undefined) return false
  const text = typeof statement === 'string' ? statement : Array.isArray(statement) ? statement[0] : ''
  return typeof text === 'string' && /^(return\b|continue$|throw )/.test(text)
}
