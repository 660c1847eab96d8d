import { diagnostic } from '../diagnostics/diagnostic.ts'
import { OPTION, RESULT } from './builtin-types.ts'
import { coverage } from './exhaustive.ts'
import { resolved, type TypeDef } from './type.ts'
import type { TypedModule, TypedPass } from './typed-module.ts'

/** Reports non-exhaustive `match` expressions and unreachable arms. */
export const checkMatches: TypedPass = (module, report) => {
  for (const { match, subject } of module.matches) {
    const { arms, start, end } = match
    if (arms.length === 0 || resolved(subject).kind === 'error') continue
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

/** Returns the type of a constructor, for a `match` on a value of unknown type. */
function constructorDef(name: string, { names, defOf }: TypedModule): TypeDef | undefined {
  const entry = names.get(name)
  if (entry?.kind === 'constructor') {
    return entry.declaration.kind === 'Type' ? defOf(entry.declaration.name.text) : undefined
  }
  if (name === 'Some' || name === 'None') return OPTION
  return name === 'Ok' || name === 'Error' ? RESULT : undefined
}
