import { layout } from '../doc/doc.ts'
import type { ParseResult } from '../syntax/parse.ts'
import { printModule } from './module.ts'
import { Printer } from './printer.ts'

/**
 * Returns the module in its canonical form: indented by four spaces, in lines of at most 100 characters where possible,
 * with `to`, `=>`, `is` and canonical decorators. Comments and single blank lines are preserved. `parsed` must not have
 * errors.
 */
export function format({ module, tokens }: ParseResult): string {
  return layout(printModule(new Printer(tokens), module))
}
