import type { Doc } from '../doc/doc.ts'
import type { Statement } from '../syntax/ast-statements.ts'
import { ViewPrinter } from './view-printer.ts'

/** Prints statements. */
export abstract class StatementPrinter extends ViewPrinter {
  protected statement(node: Statement): Doc {
    switch (node.kind) {
      case 'Let': {
        const mutable = node.isMutable ? 'mut ' : ''
        const head = `${node.form} ${mutable}${this.pattern(node.pattern)}${this.annotation(node.type)} = `
        return [head, this.expression(node.value)]
      }
      case 'Assign':
        return [this.expression(node.target), ` ${node.operator} `, this.expression(node.value)]
      case 'ExpressionStatement':
        return this.expression(node.expression)
      case 'Return':
        return node.value === null ? 'return' : ['return ', this.expression(node.value)]
      case 'While':
        return ['while ', this.expression(node.condition), ' ', this.block(node.body, false)]
      case 'Loop':
        return ['loop ', this.block(node.body, false)]
      case 'Break':
        return 'break'
      case 'Continue':
        return 'continue'
    }
  }
}
