import type { ParseResult } from '../syntax/parse.ts'
import { layout } from './doc.ts'
import { ModulePrinter } from './module-printer.ts'

/**
 * The text in its canonical form: four blanks for each level, lines of at most 100 characters where that can be done,
 * `to`, `=>`, `is` and the canonical decorators. Comments and single blank lines stay. `parsed` must be without errors.
 */
export function format({ module, tokens }: ParseResult): string {
  return layout(new ModulePrinter(tokens).module(module))
}
