import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Match, MatchArm } from '../../syntax/ast-expressions.ts'
import type { Pattern } from '../../syntax/ast-statements.ts'
import type { BodyPosition, BodyRule } from '../names/body-rule.ts'
import type { ModuleNames } from '../names/module-names.ts'
import { type Constructor, PatternMatrix } from './pattern-matrix.ts'

const OPTION: readonly Constructor[] = [
  { name: 'Some', arity: 1 },
  { name: 'None', arity: 0 }
]
const RESULT: readonly Constructor[] = [
  { name: 'Ok', arity: 1 },
  { name: 'Error', arity: 1 }
]

/** Reports non-exhaustive `match` expressions and unreachable arms. */
export class MatchesRule implements BodyRule {
  readonly found: Diagnostic[] = []

  match({ arms, start, end }: Match, { names }: BodyPosition): void {
    const last = arms.at(-1)
    if (last === undefined) return
    const matrix = new PatternMatrix(name => siblings(name, names))
    const catching = arms.find(takesAll)
    const certain = arms.filter(arm => arm.guard === null && arm !== catching).flatMap(({ patterns }) => patterns)
    if (!arms.flatMap(({ patterns }) => patterns).some(isEnumerable)) return
    const missing = this.#missing(matrix, certain, arms)
    if (catching !== undefined) {
      if (missing.length === 0 && certain.some(isEnumerable)) this.#divergent(catching)
      return
    }
    if (missing.length === 0) return
    const isOpen = missing.every(name => /^(Some|None|Ok|Error)\b/.test(name))
    this.found.push(
      diagnostic(
        'E0301',
        `\`match\` does not handle ${list(missing)}`,
        { start, end: Math.min(end, start + 5) },
        {
          missingCases: missing,
          suggestions: ['write an arm for each of them, or `_ =>` for all others'],
          ...(isOpen ? { severity: 'warning' } : {})
        }
      )
    )
  }

  #missing(matrix: PatternMatrix, certain: readonly Pattern[], arms: readonly MatchArm[]): string[] {
    if (certain.some(isEnumerable)) return matrix.missing(certain)
    // If all arms have guards, a value may match none of them.
    const guarded = arms.flatMap(({ patterns }) => patterns).find(isEnumerable)
    if (guarded?.kind !== 'ConstructorPattern') return []
    return [guarded.name.text]
  }

  #divergent(arm: MatchArm): void {
    const [pattern] = arm.patterns
    const message = 'this arm is unreachable: the arms before it match every value'
    this.found.push(diagnostic('typecheck.match.divergent_wildcard', message, pattern ?? arm))
  }
}

/** True if the pattern determines the type of the values, and that type has a finite number of variants. */
function isEnumerable(pattern: Pattern): boolean {
  return pattern.kind === 'ConstructorPattern' || (pattern.kind === 'LiteralPattern' && pattern.value.kind === 'Bool')
}

function takesAll({ patterns, guard }: MatchArm): boolean {
  return guard === null && patterns.some(({ kind }) => kind === 'WildcardPattern' || kind === 'BindingPattern')
}

function siblings(name: string, names: ModuleNames): readonly Constructor[] | undefined {
  const entry = names.get(name)
  if (entry?.kind === 'constructor') {
    return entry.variants.map(variant => ({ name: variant.name.text, arity: variant.fields.length }))
  }
  if (name === 'Some' || name === 'None') return OPTION
  return name === 'Ok' || name === 'Error' ? RESULT : undefined
}

function list(missing: readonly string[]): string {
  return missing.map(name => `\`${name}\``).join(', ')
}
