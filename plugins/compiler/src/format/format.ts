import type { ParseResult } from '../syntax/parse.ts'
import { layout } from './doc.ts'
import { ModulePrinter } from './module-printer.ts'

/**
 * The text in its canonical form. It indents by four spaces, keeps lines to 100 characters where possible, and uses
 * `to`, `=>`, `is` and canonical decorators. Comments and single blank lines are kept. `parsed` must not have errors.
 */
export function format({ module, tokens }: ParseResult): string {
  return layout(new ModulePrinter(tokens).module(module))
}
