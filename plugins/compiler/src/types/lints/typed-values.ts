import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { FloatLiteral, IntLiteral, Member } from '../../syntax/ast-expressions.ts'
import type { AnyNode } from '../../syntax/walk.ts'
import { resolved } from '../type.ts'
import type { TypedModule } from '../typed-module.ts'

/** Reports numbers that become decimals, and `row.id` where the table has only `_id`. */
export class TypedValuesRule {
  readonly kinds = ['Int', 'Float', 'Member']
  readonly found: Diagnostic[] = []
  readonly #module: TypedModule

  constructor(module: TypedModule) {
    this.#module = module
  }

  node(node: AnyNode): void {
    if (node.kind === 'Int' || node.kind === 'Float') this.#number(node as IntLiteral | FloatLiteral)
    else if (node.kind === 'Member') this.#member(node as Member)
  }

  #number(literal: IntLiteral | FloatLiteral): void {
    if (this.#module.conversionOf(literal)?.kind !== 'decimal') return
    const replacement = `${literal.digits}dec`
    this.found.push(
      diagnostic('lint.decimal_literal', `\`${literal.digits}\` is a decimal here`, literal, {
        fixes: [{ label: `write ${replacement}`, span: literal, replacement }]
      })
    )
  }

  #member({ object, property }: Member): void {
    if (property.text !== 'id') return
    const type = resolved(this.#module.typeOf(object))
    const row = type.kind === 'answer' ? resolved(type.value) : type
    if (row.kind !== 'named' || row.def.kind !== 'row' || row.def.fields?.has('id') !== false) return
    const message = `\`${row.def.name}\` has no column \`id\`, so this is the \`_id\` of the row`
    const fixes = [{ label: 'write _id', span: property, replacement: '_id' }]
    this.found.push(diagnostic('lint.row_id_alias', message, property, { fixes }))
  }
}
