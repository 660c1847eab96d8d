import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Call } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name } from '../../syntax/node.ts'
import type { BodyPosition, BodyRule } from './body-rule.ts'
import { BUILTIN_FUNCTIONS } from './builtins.ts'
import type { Signature } from './module-names.ts'

/** Reports wrong arguments of calls whose callee is a known name. */
export class CallsRule implements BodyRule {
  readonly found: Diagnostic[] = []

  call(call: Call, piped: 0 | 1, position: BodyPosition): void {
    const { callee } = call
    if (callee.kind !== 'Identifier') return
    const meaning = position.meaning(callee.name)
    if (meaning?.kind === 'builtin') {
      const arity = BUILTIN_FUNCTIONS.get(callee.name)
      const argumentCount = call.args.length + piped
      if (arity === undefined || (argumentCount >= arity.min && argumentCount <= arity.max)) return
      const expected = arity.min === arity.max ? `${arity.min}` : `${arity.min} to ${arity.max}`
      this.#wrong(callee.name, expected, argumentCount, call, null)
    } else if (meaning?.kind === 'module' && meaning.entry.signature !== null) {
      this.#check(call, piped, callee.name, meaning.entry.signature, meaning.entry.name)
    }
  }

  #check(call: Call, piped: 0 | 1, name: string, { params }: Signature, declared: Name): void {
    const named = new Set<string>()
    let positional: number = piped
    let isWrong = false
    for (const argument of call.args) {
      if (argument.name === null) {
        positional++
        continue
      }
      const { text } = argument.name
      if (!params.some(param => param.name.text === text)) {
        isWrong = true
        this.#unknown(argument.name, name, params, declared)
      }
      named.add(text)
    }
    if (isWrong) return
    const open = params.slice(positional).filter(param => !named.has(param.name.text))
    const missing = open.filter(param => param.value === null)
    const argumentCount = call.args.length + piped
    const isTwice = params.slice(0, positional).some(param => named.has(param.name.text))
    if (missing.length === 0 && positional <= params.length && !isTwice) return
    const required = params.filter(param => param.value === null).length
    const expected = required === params.length ? `${required}` : `${required} to ${params.length}`
    this.#wrong(name, expected, argumentCount, call, declared)
  }

  #unknown(argument: Name, name: string, params: Signature['params'], declared: Name): void {
    const names = params.map(param => param.name.text)
    const near = nearName(argument.text, names)
    this.found.push(
      diagnostic('typecheck.arity', `\`${name}\` has no parameter \`${argument.text}\``, argument, {
        related: [{ span: declared, message: 'declared here' }],
        ...spellingFix(near, argument)
      })
    )
  }

  #wrong(name: string, expected: string, argumentCount: number, call: Call, declared: Name | null): void {
    const message = `\`${name}\` expected ${expected} argument${expected === '1' ? '' : 's'}, found ${argumentCount}`
    const related = declared === null ? [] : [{ span: declared, message: 'declared here' }]
    this.found.push(diagnostic('typecheck.arity', message, call, { related }))
  }
}
