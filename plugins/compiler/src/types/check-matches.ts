import { diagnostic } from '../diagnostics/diagnostic.ts'
import type { MatchArm } from '../syntax/ast-expressions.ts'
import type { BindingPattern, Pattern } from '../syntax/ast-statements.ts'
import { OPTION, RESULT } from './builtin-types.ts'
import { coverage } from './exhaustive.ts'
import { show } from './show.ts'
import { resolved, type TypeDef } from './type.ts'
import type { TypedModule, TypedPass } from './typed-module.ts'

/** Reports non-exhaustive `match` expressions, unreachable arms, and arms whose patterns bind different names. */
export const checkMatches: TypedPass = (module, report) => {
  for (const { match, subject } of module.matches) {
    const { arms, start, end } = match
    if (arms.length === 0 || resolved(subject).kind === 'error') continue
    for (const arm of arms) if (arm.patterns.length > 1) checkAlternatives(arm, module, report)
    const { missing, hasMore, redundant } = coverage(subject, arms, name => constructorDef(name, module))
    if (missing.length > 0) {
      const isClosed = missing.some(each => each.isClosed)
      const texts = missing.map(({ text }) => text)
      report(
        diagnostic(
          'E0301',
          `\`match\` does not handle ${texts.map(text => `\`${text}\``).join(', ')}${hasMore ? ' and others' : ''}`,
          { start, end: Math.min(end, start + 5) },
          {
            missingCases: texts,
            suggestions: ['write an arm for each of them, or `_ =>` for all others'],
            ...(isClosed ? {} : { severity: 'warning' })
          }
        )
      )
    }
    for (const pattern of redundant) {
      const takesAll = pattern.kind === 'WildcardPattern' || pattern.kind === 'BindingPattern'
      const message = takesAll
        ? 'this arm is unreachable: the arms before it match every value'
        : 'this pattern is unreachable: the patterns before it match all of its values'
      report(diagnostic('typecheck.match.divergent_wildcard', message, pattern))
    }
  }
}

/** Reports the first name that not every pattern of an arm binds, or that has another type in one of them. */
function checkAlternatives(
  { patterns }: MatchArm,
  { typeOfPattern }: TypedModule,
  report: Parameters<TypedPass>[1]
): void {
  const all = patterns.map(pattern => new Map(bindings(pattern).map(binding => [binding.name.text, binding])))
  for (const names of all) {
    for (const [name, binding] of names) {
      // toestub-ignore(scaling/nested-loops) - the loops compare the alternatives of one arm with each other
      for (const others of all) {
        const other = others.get(name)
        if (other === binding) continue
        const [type, otherType] = [typeOfPattern(binding), other === undefined ? null : typeOfPattern(other)]
        if (type.kind === 'error' || otherType?.kind === 'error') continue
        if (otherType !== null && show(type) === show(otherType)) continue
        const message =
          otherType === null
            ? `\`${name}\` is not bound by every alternative of this arm`
            : `\`${name}\` has the type ${show(type)} in one alternative of this arm, and ${show(otherType)} in another`
        report(diagnostic('typecheck.pattern_mismatch', message, binding, { suggestions: ['write an arm for each'] }))
        return
      }
    }
  }
}

function bindings(pattern: Pattern): BindingPattern[] {
  switch (pattern.kind) {
    case 'BindingPattern':
      return [pattern]
    case 'ConstructorPattern':
      return (pattern.args ?? []).flatMap(bindings)
    case 'TuplePattern':
      return pattern.items.flatMap(bindings)
    default:
      return []
  }
}

/** Returns the type of a constructor, for a `match` on a value of unknown type. */
function constructorDef(name: string, { names, defOf }: TypedModule): TypeDef | undefined {
  const entry = names.get(name)
  if (entry?.kind === 'constructor') {
    return entry.declaration.kind === 'Type' ? defOf(entry.declaration.name.text) : undefined
  }
  if (name === 'Some' || name === 'None') return OPTION
  return name === 'Ok' || name === 'Error' ? RESULT : undefined
}
